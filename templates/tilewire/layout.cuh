// How the elements of a register tile are spread over the threads of a CTA, and how much shared
// memory the operations need that move them. Plain arithmetic: the code generator and the unit
// tests compile this file too.
//
// Every layout says the same of itself, and templates use nothing else:
//   kElements, kThreads, kVector     elements of the tile, in row-major order; threads of the CTA
//   kRegisters                       registers ("slots") of each thread, a multiple of kVector
//   element(thread, slot)            which element a slot holds; meaningless where it holds none
//   holds(thread, slot)              whether it holds one at all: else it is padding, with any
//   value owns(thread, slot)               true for exactly one slot of the CTA per element: what
//   stores,
//                                    atomics and sums over all elements go by
//   kIsFull, kIsReplicated           no padding anywhere; several threads may hold an element
// kVector slots from a multiple of kVector on hold consecutive elements, all or none of them.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

inline constexpr int kWarpThreads = 32;

TILEWIRE_CONSTEXPR int divide_up(int a, int b) { return (a + b - 1) / b; }

/// Whole rows: `kLanes` neighbouring threads share a row, its vectors of `kVector` elements going
/// round-robin over them; rows go round-robin over the groups of so many threads. `kVector` divides
/// `kColumns`, `kLanes` divides `kThreads`.
template <int kRows_, int kColumns_, int kVector_, int kLanes_, int kThreads_>
struct Rows {
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kVector = kVector_;
  static constexpr int kLanes = kLanes_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kElements = kRows * kColumns;
  static constexpr int kGroups = kThreads / kLanes;
  /// Slots that a thread has of one row.
  static constexpr int kRowSlots = divide_up(kColumns, kVector* kLanes) * kVector;
  /// Rows that a thread has slots of.
  static constexpr int kThreadRows = divide_up(kRows, kGroups);
  static constexpr int kRegisters = kThreadRows * kRowSlots;
  static constexpr bool kIsFull = kRegisters * kThreads == kElements;
  static constexpr bool kIsReplicated = false;

  static TILEWIRE_CONSTEXPR int row(int thread, int slot) {
    return slot / kRowSlots * kGroups + (kGroups == 1 ? 0 : thread / kLanes);
  }
  static TILEWIRE_CONSTEXPR int column(int thread, int slot) {
    const int lane = kGroups == 1 ? thread : thread % kLanes;
    const int vector = slot % kRowSlots / kVector;
    return (vector * kLanes + lane) * kVector + slot % kVector;
  }
  /// The slot of the `row`-th row that a thread has slots of, the `column`-th of that row's.
  static TILEWIRE_CONSTEXPR int slot(int row, int column) { return row * kRowSlots + column; }
  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return row(thread, slot) * kColumns + column(thread, slot);
  }
  static TILEWIRE_CONSTEXPR bool holds_row(int thread, int slot) {
    return kThreadRows * kGroups == kRows || row(thread, slot) < kRows;
  }
  static TILEWIRE_CONSTEXPR bool holds_column(int thread, int slot) {
    return kRowSlots * kLanes == kColumns || column(thread, slot) < kColumns;
  }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int slot) {
    return holds_row(thread, slot) && holds_column(thread, slot);
  }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int slot) { return holds(thread, slot); }
};

/// Vectors of `kVector` consecutive elements go round-robin over all threads.
template <int kElements, int kVector, int kThreads>
using Blocked = Rows<1, kElements, kVector, kThreads, kThreads>;

/// The slice of `Rows` that a reduction along the rows leaves: one element per row, held by all of
/// the `kLanes` threads that share the row.
template <int kRows, int kLanes_, int kThreads_>
struct PerRow {
  static constexpr int kVector = 1;
  static constexpr int kLanes = kLanes_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kElements = kRows;
  static constexpr int kGroups = kThreads / kLanes;
  static constexpr int kRegisters = divide_up(kRows, kGroups);
  static constexpr bool kIsFull = kRegisters * kGroups == kRows;
  static constexpr bool kIsReplicated = kLanes > 1;

  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return slot * kGroups + (kGroups == 1 ? 0 : thread / kLanes);
  }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int slot) {
    return kIsFull || element(thread, slot) < kElements;
  }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int slot) {
    return thread % kLanes == 0 && holds(thread, slot);
  }
  /// Where a thread holds the element that slot `of` of the whole rows `L` lies in the row of.
  template <typename L>
  static TILEWIRE_CONSTEXPR int slot(int of) {
    static_assert(L::kLanes == kLanes && L::kThreads == kThreads && L::kRows == kRows);
    return of / L::kRowSlots;
  }
};

/// The slice of `Rows` that a reduction over the rows leaves: one element per column, held by one
/// thread of every group of `kLanes`.
template <int kColumns, int kVector_, int kLanes_, int kThreads_>
struct PerColumn {
  static constexpr int kVector = kVector_;
  static constexpr int kLanes = kLanes_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kElements = kColumns;
  static constexpr int kRegisters = divide_up(kColumns, kVector* kLanes) * kVector;
  static constexpr bool kIsFull = kRegisters * kLanes == kColumns;
  static constexpr bool kIsReplicated = kLanes < kThreads;

  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    const int lane = kLanes == kThreads ? thread : thread % kLanes;
    return (slot / kVector * kLanes + lane) * kVector + slot % kVector;
  }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int slot) {
    return kIsFull || element(thread, slot) < kElements;
  }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int slot) {
    return thread < kLanes && holds(thread, slot);
  }
  /// Where a thread holds the element that slot `of` of the whole rows `L` lies in the column of.
  template <typename L>
  static TILEWIRE_CONSTEXPR int slot(int of) {
    static_assert(L::kLanes == kLanes && L::kVector == kVector && L::kColumns == kColumns);
    return of % L::kRowSlots;
  }
};

/// A static shape, in row-major order.
template <int... kSizes_>
struct Extents {
  static constexpr int kRank = sizeof...(kSizes_);
  static constexpr int kElements = (1 * ... * kSizes_);
  static TILEWIRE_CONSTEXPR int size(int dimension) {
    const int sizes[] = {kSizes_...};
    return sizes[dimension];
  }
};

/// The element of `Source` that element `index` of `Result` repeats; extents of 1 are repeated.
template <typename Result, typename Source>
TILEWIRE_CONSTEXPR int broadcast_source(int index) {
  int source = 0;
  int stride = 1;
  TILEWIRE_UNROLL
  for (int i = Result::kRank - 1; i >= 0; --i) {
    const int coordinate = i == 0 ? index : index % Result::size(i);
    index /= Result::size(i);
    if (Source::size(i) != 1) source += coordinate * stride;
    stride *= Source::size(i);
  }
  return source;
}

/// Elements between neighbours along a dimension.
template <typename Shape>
TILEWIRE_CONSTEXPR int inner_size(int dimension) {
  int size = 1;
  for (int i = dimension + 1; i < Shape::kRank; ++i) size *= Shape::size(i);
  return size;
}

/// Tiles pass through shared memory in pieces of at most this many bytes.
inline constexpr int kMaxPieceBytes = 32 * 1024;

TILEWIRE_CONSTEXPR int smaller(int a, int b) { return a < b ? a : b; }

/// Elements of `element_bytes` bytes that pass through shared memory at once.
TILEWIRE_CONSTEXPR int piece_elements(int elements, int element_bytes) {
  return smaller(elements, kMaxPieceBytes / element_bytes);
}

/// Shared bytes of a reduction over all elements: an accumulator per warp.
TILEWIRE_CONSTEXPR int reduce_bytes(int threads, int accumulator_bytes) {
  return threads / kWarpThreads * accumulator_bytes;
}

/// Shared bytes of a reduction along the rows of `Rows`: none where a warp holds a row, else an
/// accumulator per warp for each of its rows.
TILEWIRE_CONSTEXPR int reduce_rows_bytes(int rows, int lanes, int threads, int accumulator_bytes) {
  if (lanes <= kWarpThreads) return 0;
  return divide_up(rows, threads / lanes) * reduce_bytes(threads, accumulator_bytes);
}

/// Groups of threads whose results for the same columns meet in shared memory.
TILEWIRE_CONSTEXPR int num_column_parts(int lanes, int threads) {
  return threads / (lanes < kWarpThreads ? kWarpThreads : lanes);
}

/// Columns of each thread, `slots` in all, whose parts pass through shared memory at once.
TILEWIRE_CONSTEXPR int column_piece_slots(int slots, int lanes, int threads,
                                          int accumulator_bytes) {
  return smaller(slots,
                 kMaxPieceBytes / (num_column_parts(lanes, threads) * lanes * accumulator_bytes));
}

/// Shared bytes of a reduction over the rows of `Rows`, where a thread has `slots` slots of a row:
/// none where every group of threads that meet within a warp holds all rows.
TILEWIRE_CONSTEXPR int reduce_columns_bytes(int slots, int lanes, int threads,
                                            int accumulator_bytes) {
  const int parts = num_column_parts(lanes, threads);
  if (parts == 1) return 0;
  return parts * lanes * column_piece_slots(slots, lanes, threads, accumulator_bytes) *
         accumulator_bytes;
}

TILEWIRE_CONSTEXPR int smallest_power_of_two(int at_least) {
  int power = 1;
  while (power < at_least) power *= 2;
  return power;
}

/// Threads that share the work on one of `results` results: a power of two, within a warp.
TILEWIRE_CONSTEXPR int threads_per_result(int results, int threads) {
  int lanes = kWarpThreads;
  while (lanes > 1 && lanes * results > threads) lanes /= 2;
  return lanes;
}

/// Shared bytes of a tile that passes through in pieces.
TILEWIRE_CONSTEXPR int piece_bytes(int elements, int element_bytes) {
  return piece_elements(elements, element_bytes) * element_bytes;
}

/// Elements that are left out of shared memory to move what follows by a bank.
TILEWIRE_CONSTEXPR int pad_elements(int element_bytes) {
  return element_bytes < 4 ? 4 / element_bytes : 1;
}

/// Shared bytes of a tile that passes through in pieces, padded after every `row` elements.
TILEWIRE_CONSTEXPR int padded_bytes(int elements, int row, int element_bytes) {
  const int piece = piece_elements(elements, element_bytes);
  return (piece + piece / row * pad_elements(element_bytes)) * element_bytes;
}

/// Parts that each of `lines` lines is scanned in at once: as many as there are groups of threads.
TILEWIRE_CONSTEXPR int scan_parts(int lines, int threads) {
  const int groups = threads / threads_per_result(lines, threads);
  return lines < groups ? groups / lines : 1;
}

/// Shared bytes of a scan: a piece of the result, and what each part comes to.
TILEWIRE_CONSTEXPR int scan_bytes(int elements, int lines, int threads, int element_bytes) {
  const int parts = scan_parts(lines, threads);
  return piece_bytes(elements, element_bytes) + (parts > 1 ? lines * parts * element_bytes : 0);
}

/// Lines of `size` elements that are sorted at once, each padded to a power of two.
TILEWIRE_CONSTEXPR int sort_lines(int lines, int size, int element_bytes) {
  return smaller(lines, kMaxPieceBytes / element_bytes / smallest_power_of_two(size));
}

}  // namespace tilewire::device

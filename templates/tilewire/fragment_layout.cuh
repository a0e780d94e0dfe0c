// How the accumulators of wgmma are spread over a CTA's warpgroups: the layout of products that
// read their operands from shared memory. Plain arithmetic: the code generator and the unit tests
// compile this file too.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

inline constexpr int kWarpgroupThreads = 128;
/// Rows of the result of one `wgmma`; each of the four warps has 16 of them.
inline constexpr int kWgmmaRows = 64;

// `wgmma.m64nNkX` (PTX ISA, "Register Fragments"): in every 8 columns a thread holds two neighbours
// of row lane / 4 of its warp's 16, then the same of the row 8 further down.

/// Columns of the instruction that begins a product of `columns` columns. The same goes for what is
/// left behind it: together they begin at multiples of 64 or end before the next one.
TILEWIRE_CONSTEXPR int wgmma_columns(int columns) {
  if (columns >= 256) return 256;
  if (columns >= 64) return columns / 32 * 32;
  return columns >= 32 ? 32 : columns >= 16 ? 16 : 8;
}

/// A product of `kRows` x `kColumns`: whole rows, in blocks of 64, the first of them the first
/// warpgroup's. `kRows` is a multiple of 64 per warpgroup, or one warpgroup's 16, 32 or 48, and the
/// last warps have none; `kColumns` is a multiple of 8. A block's registers lie one behind the
/// other, and those of any 8 columns of it: where `wgmma` wants them.
template <int kRows_, int kColumns_, int kThreads_>
struct Fragment {
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kElements = kRows * kColumns;
  static constexpr int kVector = 2;
  static constexpr int kWarpgroups = kThreads / kWarpgroupThreads;
  static constexpr int kBlocks = divide_up(kRows, kWarpgroups* kWgmmaRows);  ///< of each warpgroup
  static constexpr int kBlockSlots = kColumns / 2;  ///< registers of a block
  static constexpr int kLanes = 4;                  ///< neighbouring threads that share a row
  static constexpr int kRowSlots = kColumns / 4;    ///< of a thread, of one row
  static constexpr int kThreadRows = kBlocks * 2;   ///< rows that a thread has slots of
  static constexpr int kRegisters = kBlocks * kBlockSlots;
  static constexpr bool kIsFull = kRows == kWarpgroups * kBlocks * kWgmmaRows;
  static constexpr bool kIsReplicated = false;
  static_assert(kThreads % kWarpgroupThreads == 0 && kColumns % 8 == 0);
  static_assert(kIsFull || (kWarpgroups == 1 && kBlocks == 1 && kRows % 16 == 0));

  /// The first of the 16 rows that a thread's warp has of a block.
  static TILEWIRE_CONSTEXPR int warp_row(int thread, int block) {
    return (thread / kWarpgroupThreads * kBlocks + block) * kWgmmaRows +
           thread % kWarpgroupThreads / kWarpThreads * 16;
  }
  static TILEWIRE_CONSTEXPR bool has_rows(int thread) {
    return kIsFull || warp_row(thread, 0) < kRows;
  }
  static TILEWIRE_CONSTEXPR int row(int thread, int slot) {
    return warp_row(thread, slot / kBlockSlots) + thread % kWarpThreads / 4 + slot / 2 % 2 * 8;
  }
  static TILEWIRE_CONSTEXPR int column(int thread, int slot) {
    return slot % kBlockSlots / 4 * 8 + thread % 4 * 2 + slot % 2;
  }
  /// The slot of the `row`-th row that a thread has slots of, the `column`-th of that row's.
  static TILEWIRE_CONSTEXPR int slot(int row, int column) {
    return row / 2 * kBlockSlots + column / 2 * 4 + row % 2 * 2 + column % 2;
  }
  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return row(thread, slot) * kColumns + column(thread, slot);
  }
  static TILEWIRE_CONSTEXPR bool holds_row(int thread, int) { return has_rows(thread); }
  static TILEWIRE_CONSTEXPR bool holds_column(int, int) { return true; }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int) { return has_rows(thread); }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int) { return has_rows(thread); }
};

/// The slice of `Fragment` that a reduction along the rows leaves: one element per row, held by the
/// four threads that share the row.
template <int kRows, int kThreads_>
struct FragmentPerRow {
  using Whole = Fragment<kRows, 8, kThreads_>;  // two rows to four slots
  static constexpr int kVector = 1;
  static constexpr int kThreads = kThreads_;
  static constexpr int kElements = kRows;
  static constexpr int kLanes = 4;
  static constexpr int kRegisters = Whole::kRegisters / 2;
  static constexpr bool kIsFull = Whole::kIsFull;
  static constexpr bool kIsReplicated = true;

  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return Whole::row(thread, slot * 2);
  }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int) { return Whole::has_rows(thread); }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int slot) {
    return thread % kLanes == 0 && holds(thread, slot);
  }
  /// Where a thread holds the element that slot `of` of the whole rows `L` lies in the row of.
  template <typename L>
  static TILEWIRE_CONSTEXPR int slot(int of) {
    static_assert(L::kRows == kRows && L::kThreads == kThreads);
    return of / L::kBlockSlots * 2 + of / 2 % 2;
  }
};

/// The slice of `Fragment` that a reduction over the rows leaves: one element per column, held by
/// eight threads of every warp.
template <int kColumns, int kThreads_>
struct FragmentPerColumn {
  static constexpr int kVector = 2;
  static constexpr int kThreads = kThreads_;
  static constexpr int kElements = kColumns;
  static constexpr int kRegisters = kColumns / 4;
  static constexpr bool kIsFull = true;
  static constexpr bool kIsReplicated = true;

  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return slot / 2 * 8 + thread % 4 * 2 + slot % 2;
  }
  static TILEWIRE_CONSTEXPR bool holds(int, int) { return true; }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int) { return thread < 4; }
  /// Where a thread holds the element that slot `of` of the whole rows `L` lies in the column of.
  template <typename L>
  static TILEWIRE_CONSTEXPR int slot(int of) {
    static_assert(L::kColumns == kColumns && L::kThreads == kThreads);
    return of % L::kBlockSlots / 4 * 2 + of % 2;
  }
};

/// `Fragment` as memory likes it: every warp has the same 16 rows of a block, in whole lines, its
/// lanes side by side. `kVector` elements, at most 16 bytes, are neighbours.
///
/// A tile gets there piece by piece, each 16 rows of a line of up to 128 bytes, through shared
/// memory of the warp's own. Its 16-byte units change places within their line, by the number of
/// the 128 bytes that they lie in, so that rows of a unit are in different banks.
template <typename F, int kElementBytes, int kVector_>
struct FragmentRows {
  static constexpr int kVector = kVector_;
  static constexpr int kThreads = F::kThreads;
  static constexpr int kElements = F::kElements;
  static constexpr int kRegisters = F::kRegisters;
  static constexpr bool kIsFull = F::kIsFull;
  static constexpr bool kIsReplicated = false;
  static constexpr int kPieceRows = 16;
  /// The widest line that divides the tile's rows.
  static constexpr int kLineBytes =
      smaller(128, F::kColumns* kElementBytes & -(F::kColumns * kElementBytes));
  static constexpr int kLine = kLineBytes / kElementBytes;  ///< elements
  static constexpr int kAcross = F::kColumns / kLine;       ///< pieces side by side
  static constexpr int kPieces = F::kBlocks * kAcross;
  static constexpr int kPieceSlots = kLine / 2;
  static constexpr int kPieceBytes = kPieceRows * kLineBytes;
  static_assert(kVector * kElementBytes <= 16 && kPieceSlots % kVector == 0);

  /// Where a piece begins in the registers of a thread of `F`.
  static TILEWIRE_CONSTEXPR int fragment_slot(int piece) {
    return piece / kAcross * F::kBlockSlots + piece % kAcross * kPieceSlots;
  }
  /// Of a slot's element, the vector's number in its piece; the line and the element of it that
  /// the vector begins at.
  static TILEWIRE_CONSTEXPR int vector(int thread, int slot) {
    return slot % kPieceSlots / kVector * kWarpThreads + thread % kWarpThreads;
  }
  static TILEWIRE_CONSTEXPR int line(int vector) { return vector / (kLine / kVector); }
  static TILEWIRE_CONSTEXPR int place(int vector) { return vector % (kLine / kVector) * kVector; }
  static TILEWIRE_CONSTEXPR int row(int thread, int slot) {
    return F::warp_row(thread, slot / kPieceSlots / kAcross) + line(vector(thread, slot));
  }
  static TILEWIRE_CONSTEXPR int column(int thread, int slot) {
    return slot / kPieceSlots % kAcross * kLine + place(vector(thread, slot)) + slot % kVector;
  }
  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return row(thread, slot) * F::kColumns + column(thread, slot);
  }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int) { return F::has_rows(thread); }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int) { return F::has_rows(thread); }

  /// The byte of a piece that an element of it lies at.
  static TILEWIRE_CONSTEXPR int offset(int row, int column) {
    const int byte = row * kLineBytes + column * kElementBytes;
    return byte ^ ((byte >> 7) & (kLineBytes / 16 - 1)) << 4;
  }
};

/// Neighbours that a thread may have of rows of `columns` elements, of `vector` that memory allows.
TILEWIRE_CONSTEXPR int row_vector(int vector, int columns, int element_bytes) {
  const int row_bytes = columns * element_bytes;
  return smaller(vector, smaller(128, row_bytes & -row_bytes) / element_bytes / 2);
}

/// Bytes from row to row of a tile that the mover carries (mover.cuh): neighbouring rows begin in
/// different banks.
TILEWIRE_CONSTEXPR int moved_row_stride(int row_bytes) { return row_bytes + 16; }

/// Shared bytes of tiles on their way from `Fragment` to `FragmentRows`: a piece for each warp.
TILEWIRE_CONSTEXPR int fragment_rows_bytes(int threads) { return threads / kWarpThreads * 2048; }

}  // namespace tilewire::device

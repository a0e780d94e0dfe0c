// Reductions. The order of the additions is fixed, so that equal inputs give equal bits; every
// thread gets the result.
//
// Both kinds pass through shared memory and hold one or more __syncthreads: all threads of the CTA
// take part, and nobody may still be using `shared`.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/operators.cuh"

namespace tilewire::device {

TILEWIRE_DEVICE float lowest(float) { return -__int_as_float(0x7f800000); }
TILEWIRE_DEVICE double lowest(double) { return -double(__int_as_float(0x7f800000)); }
TILEWIRE_DEVICE float highest(float) { return __int_as_float(0x7f800000); }
TILEWIRE_DEVICE double highest(double) { return double(__int_as_float(0x7f800000)); }
template <typename T>
TILEWIRE_DEVICE T lowest(T) {
  return T(-1) < T(0) ? static_cast<T>(T(1) << (8 * sizeof(T) - 1)) : T(0);
}
template <typename T>
TILEWIRE_DEVICE T highest(T) {
  return static_cast<T>(~lowest(T()));
}

struct Sum : Add {
  static constexpr bool kCommutes = true;
  template <typename T>
  static TILEWIRE_DEVICE T neutral() {
    return T(0);
  }
};
struct Max : Maximum {
  static constexpr bool kCommutes = false;  // of two zeros with different signs
  template <typename T>
  static TILEWIRE_DEVICE T neutral() {
    return lowest(T());
  }
};
struct Min : Minimum {
  static constexpr bool kCommutes = false;
  template <typename T>
  static TILEWIRE_DEVICE T neutral() {
    return highest(T());
  }
};

struct Any {
  static constexpr bool kCommutes = true;
  static TILEWIRE_DEVICE bool of(bool a, bool b) { return a || b; }
  template <typename T>
  static TILEWIRE_DEVICE bool neutral() {
    return false;
  }
};
struct All {
  static constexpr bool kCommutes = true;
  static TILEWIRE_DEVICE bool of(bool a, bool b) { return a && b; }
  template <typename T>
  static TILEWIRE_DEVICE bool neutral() {
    return true;
  }
};

/// The value of the lane whose number differs in the bit `mask`.
template <typename T>
TILEWIRE_DEVICE T shuffle_xor(T value, int mask) {
  if constexpr (sizeof(T) < 4) {
    return static_cast<T>(__shfl_xor_sync(0xffffffff, static_cast<int>(value), mask));
  } else {
    return __shfl_xor_sync(0xffffffff, value, mask);
  }
}

/// Op over every `kStep`-th one of `kLanes` neighbouring lanes. The lower lane's value stands on
/// the left, so that all of these lanes get the same bits.
template <typename Op, int kLanes, int kStep = 1, typename C>
TILEWIRE_DEVICE C reduce_lanes(C value) {
  TILEWIRE_UNROLL
  for (int mask = kLanes / 2; mask >= kStep; mask /= 2) {
    const C other = shuffle_xor(value, mask);
    const bool is_upper = !Op::kCommutes && (threadIdx.x & mask) != 0;
    value = is_upper ? Op::of(other, value) : Op::of(value, other);
  }
  return value;
}

/// Op over all elements, computed in the compute type of Result.
template <typename Op, typename Result, typename TileType>
TILEWIRE_DEVICE Result reduce(const TileType& tile, void* shared) {
  using L = typename Operand<TileType>::Layout;
  using C = decltype(widen(Result()));
  constexpr int kWarps = L::kThreads / kWarpThreads;
  constexpr int kLanes = smallest_power_of_two(kWarps);
  static_assert(L::kThreads % kWarpThreads == 0);

  C value = Op::template neutral<C>();
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    if (L::owns(threadIdx.x, i)) value = Op::of(value, static_cast<C>(wide(tile, i)));
  }
  value = reduce_lanes<Op, kWarpThreads>(value);
  if constexpr (kWarps > 1) {
    C* partial = static_cast<C*>(shared);
    if (threadIdx.x % kWarpThreads == 0) partial[threadIdx.x / kWarpThreads] = value;
    meet();
    const int lane = threadIdx.x % kLanes;
    value = reduce_lanes<Op, kLanes>(lane < kWarps ? partial[lane] : Op::template neutral<C>());
  }
  return Narrow<Result>::of(value);
}

/// Op along the rows of a tile in `Rows` or `Fragment`: each row's result for all threads that
/// share the row.
template <typename Op, typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile reduce_rows(const TileType& tile, void* shared) {
  using L = typename Operand<TileType>::Layout;
  using R = typename ResultTile::Element;
  using C = decltype(widen(R()));
  constexpr int kLanes = smaller(L::kLanes, kWarpThreads);
  constexpr int kParts = L::kLanes / kLanes;  // warps that share a row
  constexpr int kWarps = L::kThreads / kWarpThreads;

  C values[L::kThreadRows];
  TILEWIRE_UNROLL
  for (int row = 0; row < L::kThreadRows; ++row) {
    values[row] = Op::template neutral<C>();
    TILEWIRE_UNROLL
    for (int column = 0; column < L::kRowSlots; ++column) {
      const int i = L::slot(row, column);
      if (!L::holds_column(threadIdx.x, i)) continue;
      values[row] = Op::of(values[row], static_cast<C>(wide(tile, i)));
    }
    values[row] = reduce_lanes<Op, kLanes>(values[row]);
  }
  if constexpr (kParts > 1) {
    C* partial = static_cast<C*>(shared);
    const int warp = threadIdx.x / kWarpThreads;
    const int lane = threadIdx.x % kParts;
    TILEWIRE_UNROLL
    for (int row = 0; row < L::kThreadRows; ++row) {
      if (threadIdx.x % kWarpThreads == 0) partial[row * kWarps + warp] = values[row];
    }
    meet();
    TILEWIRE_UNROLL
    for (int row = 0; row < L::kThreadRows; ++row) {
      values[row] = partial[row * kWarps + warp / kParts * kParts + lane];
      values[row] = reduce_lanes<Op, kParts>(values[row]);
    }
  }
  ResultTile result;
  TILEWIRE_UNROLL
  for (int row = 0; row < L::kThreadRows; ++row) result.set(row, Narrow<R>::of(values[row]));
  return result;
}

/// Op over the rows of a tile in `Rows` or `Fragment`: each column's result for all threads that
/// hold elements of the column.
template <typename Op, typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile reduce_columns(const TileType& tile, void* shared) {
  using L = typename Operand<TileType>::Layout;
  using R = typename ResultTile::Element;
  using C = decltype(widen(R()));
  constexpr int kParts = num_column_parts(L::kLanes, L::kThreads);

  C values[L::kRowSlots];
  TILEWIRE_UNROLL
  for (int column = 0; column < L::kRowSlots; ++column) {
    values[column] = Op::template neutral<C>();
    TILEWIRE_UNROLL
    for (int row = 0; row < L::kThreadRows; ++row) {
      const int i = L::slot(row, column);
      if (!L::holds_row(threadIdx.x, i)) continue;
      values[column] = Op::of(values[column], static_cast<C>(wide(tile, i)));
    }
    values[column] = reduce_lanes<Op, kWarpThreads, L::kLanes>(values[column]);
  }
  if constexpr (kParts > 1) {
    C* partial = static_cast<C*>(shared);
    constexpr int kPartThreads = L::kThreads / kParts;
    constexpr int kPiece = column_piece_slots(L::kRowSlots, L::kLanes, L::kThreads, sizeof(C));
    const int part = threadIdx.x / kPartThreads;
    const int lane = threadIdx.x % L::kLanes;
    TILEWIRE_UNROLL
    for (int start = 0; start < L::kRowSlots; start += kPiece) {
      const int end = smaller(start + kPiece, L::kRowSlots);
      if (start > 0) meet();
      TILEWIRE_UNROLL
      for (int i = start; i < end; ++i) {
        if (threadIdx.x % kPartThreads >= L::kLanes) continue;
        partial[(part * kPiece + i - start) * L::kLanes + lane] = values[i];
      }
      meet();
      TILEWIRE_UNROLL
      for (int i = start; i < end; ++i) {
        values[i] = partial[(i - start) * L::kLanes + lane];
        TILEWIRE_UNROLL
        for (int k = 1; k < kParts; ++k) {
          values[i] = Op::of(values[i], partial[(k * kPiece + i - start) * L::kLanes + lane]);
        }
      }
    }
  }
  ResultTile result;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRowSlots; ++i) result.set(i, Narrow<R>::of(values[i]));
  return result;
}

/// Op along axis `kAxis` of a tile of shape `Shape`; the result has the axis left out. The tile
/// passes through shared memory in pieces; a group of lanes works on each result.
template <typename Op, int kAxis, typename Shape, typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile reduce_axis(const TileType& tile, void* shared) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using R = typename ResultTile::Element;
  using K = typename ResultTile::Layout;
  using C = decltype(widen(R()));
  constexpr int kSize = Shape::size(kAxis);
  constexpr int kResults = L::kElements / kSize;
  constexpr int kLanes = threads_per_result(kResults, L::kThreads);
  constexpr int kGroups = L::kThreads / kLanes;
  constexpr int kRounds = (kResults + kGroups - 1) / kGroups;
  constexpr int kPiece = piece_elements(L::kElements, sizeof(T));
  int inner_size = 1;
  TILEWIRE_UNROLL
  for (int i = kAxis + 1; i < Shape::kRank; ++i) inner_size *= Shape::size(i);

  T* piece = static_cast<T*>(shared);
  C values[kRounds];
  TILEWIRE_UNROLL
  for (int round = 0; round < kRounds; ++round) values[round] = Op::template neutral<C>();

  for (int start = 0; start < L::kElements; start += kPiece) {
    if (start > 0) meet();
    put_piece<kPiece>(tile, start, piece);
    meet();
    TILEWIRE_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const int result = round * kGroups + static_cast<int>(threadIdx.x) / kLanes;
      if (result >= kResults) continue;
      const int first = result / inner_size * kSize * inner_size + result % inner_size - start;
      for (int j = threadIdx.x % kLanes; j < kSize; j += kLanes) {
        const int index = first + j * inner_size;
        if (index < 0 || index >= kPiece) continue;
        values[round] = Op::of(values[round], static_cast<C>(widen(piece[index])));
      }
    }
  }

  // Each group's first lane holds a result; the result tile's threads fetch theirs.
  R* results = static_cast<R*>(shared);
  constexpr int kResultPiece = piece_elements(kResults, sizeof(R));
  ResultTile result;
  for (int start = 0; start < kResults; start += kResultPiece) {
    meet();
    TILEWIRE_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      if (start == 0) values[round] = reduce_lanes<Op, kLanes>(values[round]);
      const int index = round * kGroups + static_cast<int>(threadIdx.x) / kLanes - start;
      if (threadIdx.x % kLanes == 0 && index >= 0 &&
          index < smaller(kResultPiece, kResults - start)) {
        results[index] = Narrow<R>::of(values[round]);
      }
    }
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      const int index = K::element(threadIdx.x, i) - start;
      if (index >= 0 && index < smaller(kResultPiece, kResults - start)) {
        result.set(i, results[index]);
      }
    }
  }
  return result;
}

}  // namespace tilewire::device

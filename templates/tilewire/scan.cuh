// Running sums and products. The order of the operations is fixed, so that equal inputs give equal
// bits. The tile passes through shared memory: all threads of the CTA take part in the
// __syncthreads inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/arithmetic.cuh"

namespace tilewire::device {

struct RunningSum : Add {
  template <typename T>
  static TILEWIRE_DEVICE T neutral() {
    return T(0);
  }
};
struct RunningProduct : Multiply {
  template <typename T>
  static TILEWIRE_DEVICE T neutral() {
    return T(1);
  }
};

/// As `put_piece`, converted to the dtype of the piece.
template <int kPiece, typename C, typename TileType>
TILEWIRE_DEVICE void put_widened(const TileType& tile, int start, C* piece) {
  using L = typename Operand<TileType>::Layout;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    const int index = L::element(threadIdx.x, i) - start;
    if (index >= 0 && index < kPiece && L::owns(threadIdx.x, i)) {
      piece[index] = static_cast<C>(wide(tile, i));
    }
  }
}

/// Inclusive, over groups of `kLanes` neighbouring lanes.
template <typename Op, int kLanes, typename C>
TILEWIRE_DEVICE C scan_lanes(C value) {
  const int lane = threadIdx.x % kWarpThreads;
  TILEWIRE_UNROLL
  for (int distance = 1; distance < kLanes; distance *= 2) {
    const C before = __shfl_sync(0xffffffff, value, (lane - distance) & (kWarpThreads - 1));
    if (lane % kLanes >= distance) value = Op::of(before, value);
  }
  return value;
}

/// Scans one line of `kSize` elements that lie `kInner` apart, as far as they are in the piece:
/// element j is piece[first + j * kInner]. A group of lanes works on it, its neighbours in the warp
/// on other lines or, with `is_there` false, on none. Takes and returns what stands before.
template <typename Op, int kSize, int kInner, int kLanes, bool kIsReverse, typename C>
TILEWIRE_DEVICE C scan_line(C* piece, int num_elements, int first, bool is_there, C carried) {
  const int lane = threadIdx.x % kLanes;
  const int last_lane = threadIdx.x % kWarpThreads / kLanes * kLanes + kLanes - 1;
  for (int start = 0; start < kSize; start += kLanes) {
    const int j = kIsReverse ? kSize - 1 - start - lane : start + lane;
    const int index = first + j * kInner;
    const bool is_inside = is_there && j >= 0 && j < kSize && index >= 0 && index < num_elements;
    const C own = is_inside ? piece[index] : Op::template neutral<C>();
    const C value = Op::of(carried, scan_lanes<Op, kLanes>(own));
    if (is_inside) piece[index] = value;
    carried = __shfl_sync(0xffffffff, value, last_lane);
  }
  return carried;
}

/// Element j along axis `kAxis` of a tile of shape `Shape` becomes Op over the elements up to j, or
/// from j on (`kIsReverse`), computed in the result's dtype.
template <typename Op, int kAxis, bool kIsReverse, typename Shape, typename ResultTile,
          typename TileType>
TILEWIRE_DEVICE ResultTile scan(const TileType& tile, void* shared) {
  using L = typename Operand<TileType>::Layout;
  using C = typename ResultTile::Element;
  using K = typename ResultTile::Layout;
  constexpr int kSize = Shape::size(kAxis);
  constexpr int kLines = L::kElements / kSize;
  constexpr int kLanes = threads_per_result(kLines, L::kThreads);
  constexpr int kGroups = L::kThreads / kLanes;
  constexpr int kRounds = (kLines + kGroups - 1) / kGroups;
  constexpr int kPiece = piece_elements(L::kElements, sizeof(C));
  constexpr int kPieces = (L::kElements + kPiece - 1) / kPiece;
  constexpr int kInner = inner_size<Shape>(kAxis);
  C* piece = static_cast<C*>(shared);
  C carried[kRounds];
  TILEWIRE_UNROLL
  for (int round = 0; round < kRounds; ++round) carried[round] = Op::template neutral<C>();

  ResultTile result;
  for (int number = 0; number < kPieces; ++number) {
    const int start = (kIsReverse ? kPieces - 1 - number : number) * kPiece;
    if (number > 0) __syncthreads();
    put_widened<kPiece>(tile, start, piece);
    __syncthreads();
    TILEWIRE_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const int line = round * kGroups + static_cast<int>(threadIdx.x) / kLanes;
      const int first = line / kInner * kSize * kInner + line % kInner - start;
      carried[round] = scan_line<Op, kSize, kInner, kLanes, kIsReverse>(
          piece, kPiece, first, line < kLines, carried[round]);
    }
    __syncthreads();
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      const int index = K::element(threadIdx.x, i) - start;
      if (index >= 0 && index < kPiece && K::holds(threadIdx.x, i)) result.set(i, piece[index]);
    }
  }
  return result;
}

}  // namespace tilewire::device

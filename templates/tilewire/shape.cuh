// Operations that change a tile's shape or layout. Where a thread needs what another holds, the
// elements pass through shared memory: all threads of the CTA take part in the __syncthreads
// inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

/// Repeats extents of 1: the tile has shape `Source`, the result has shape `Result`.
template <typename ResultTile, typename Result, typename Source, typename TileType>
TILEWIRE_DEVICE ResultTile broadcast(const TileType& tile, void* shared) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using K = typename ResultTile::Layout;
  constexpr int kPiece = piece_elements(L::kElements, sizeof(T));
  T* piece = static_cast<T*>(shared);
  ResultTile result;
  TILEWIRE_UNROLL
  for (int start = 0; start < L::kElements; start += kPiece) {
    if (start > 0) __syncthreads();
    put_piece<kPiece>(tile, start, piece);
    __syncthreads();
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      const int target = K::element(threadIdx.x, i);
      const int index = broadcast_source<Result, Source>(target) - start;
      if (index >= 0 && index < kPiece && K::holds(threadIdx.x, i)) {
        result.set(i, piece[index]);
      }
    }
  }
  return result;
}

/// The same elements in another layout.
template <typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile relayout(const TileType& tile, void* shared) {
  using Shape = Extents<Operand<TileType>::Layout::kElements>;
  return broadcast<ResultTile, Shape, Shape>(tile, shared);
}

/// Repeats a tile along new or outer dimensions where each thread holds what it needs already: the
/// tile is a whole number of rounds over the threads.
template <typename ResultTile, typename TileType>
TILEWIRE_DEVICE ResultTile repeat(const TileType& tile) {
  using L = typename Operand<TileType>::Layout;
  static_assert(L::kIsFull && L::kVector == ResultTile::Layout::kVector);
  ResultTile result;
  TILEWIRE_UNROLL
  for (int i = 0; i < ResultTile::Layout::kRegisters; ++i) {
    result.set(i, element(tile, i % L::kRegisters));
  }
  return result;
}

/// The element at `indices` of a tile of shape `Shape`, for every thread; outside it is 0.
template <typename Shape, typename TileType, typename... Indices>
TILEWIRE_DEVICE typename Operand<TileType>::Element extract(const TileType& tile, void* shared,
                                                            Indices... indices) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  const int64_t coordinates[] = {indices...};
  int64_t index = 0;
  bool is_inside = true;
  TILEWIRE_UNROLL
  for (int i = 0; i < Shape::kRank; ++i) {
    is_inside = is_inside && coordinates[i] >= 0 && coordinates[i] < Shape::size(i);
    index = index * Shape::size(i) + coordinates[i];
  }
  T* found = static_cast<T*>(shared);
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    if (is_inside && L::owns(threadIdx.x, i) && L::element(threadIdx.x, i) == index) {
      *found = element(tile, i);
    }
  }
  __syncthreads();
  return is_inside ? *found : T{};
}

}  // namespace tilewire::device

// Operations that change a tile's shape or layout. Where a thread needs what another holds, the
// elements pass through shared memory: all threads of the CTA take part in the __syncthreads
// inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/meet.cuh"
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
    if (start > 0) meet();
    put_piece<kPiece>(tile, start, piece);
    meet();
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

/// A slice, repeated over the rows or columns of `L`, an expression like those of element-wise
/// operators: each thread holds what it needs, or gets it in pieces (`E`, pieces.cuh).
template <typename T, typename L, typename S, typename E = Tile<T, S>>
struct Spread {
  E slice;
  TILEWIRE_DEVICE auto wide(int slot) const {
    return device::wide(slice, S::template slot<L>(slot));
  }
  template <int kCount>
  TILEWIRE_DEVICE auto piece(int first) const {
    auto some = piece_of<kCount / 2>(slice, S::template slot<L>(first));
    return Spread<T, L, S, decltype(some)>{some};
  }
  TILEWIRE_DEVICE operator Tile<T, L>() const {
    if constexpr (kPieceSlots<Spread> > 0) {
      return materialise<T, L>(*this);
    } else {
      Tile<T, L> result;
      TILEWIRE_UNROLL
      for (int i = 0; i < L::kRegisters; ++i) result.set(i, slice.get(S::template slot<L>(i)));
      return result;
    }
  }
};

template <typename T, typename L, typename S, typename E>
struct Operand<Spread<T, L, S, E>> {
  using Element = T;
  using Layout = L;
  using Held = Spread<T, L, S, E>;
  static constexpr bool kIsTile = true;
};
template <typename T, typename L, typename S>
struct Operand<Spread<T, L, S, Tile<T, S>>> {
  using Element = T;
  using Layout = L;
  using Held = const Spread<T, L, S>&;
  static constexpr bool kIsTile = true;
};
/// Of a slice over columns, each of whose slots two rows of `L` have one of.
template <typename T, typename L, typename S, typename E>
inline constexpr int kPieceSlots<Spread<T, L, S, E>> = 2 * kPieceSlots<E>;

template <typename T, typename L, typename S, typename E>
TILEWIRE_DEVICE T element(const Spread<T, L, S, E>& spread, int slot) {
  return element(spread.slice, S::template slot<L>(slot));
}
template <typename T, typename L, typename S, typename E>
TILEWIRE_DEVICE auto wide(const Spread<T, L, S, E>& spread, int slot) {
  return spread.wide(slot);
}

/// The slice of a tile in the layout of `ResultTile`, repeated to that tile.
template <typename ResultTile, typename SliceTile>
TILEWIRE_DEVICE auto spread(const SliceTile& slice) {
  using T = typename Operand<SliceTile>::Element;
  using L = typename ResultTile::Layout;
  using S = typename Operand<SliceTile>::Layout;
  if constexpr (kPieceSlots<SliceTile> > 0) {
    return Spread<T, L, S, SliceTile>{slice};
  } else {
    return Spread<T, L, S>{slice};
  }
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
  meet();
  return is_inside ? *found : T{};
}

}  // namespace tilewire::device

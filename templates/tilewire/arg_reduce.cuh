// Where the largest or smallest element stands: NaN wins, then the lowest number. Every thread gets
// the result.
//
// Both kinds pass through shared memory and hold one or more __syncthreads: all threads of the CTA
// take part, and nobody may still be using `shared`.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/reduce.cuh"

namespace tilewire::device {

struct Larger {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a > b;
  }
};
struct Smaller {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a < b;
  }
};

/// An element and its number; a negative number: none yet.
template <typename C>
struct Found {
  C value;
  int index;
};

/// Whichever of the two wins: a total order, so that no grouping changes the result.
template <typename Order, typename C>
TILEWIRE_DEVICE Found<C> winner(const Found<C>& a, const Found<C>& b) {
  if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
  const bool is_a_nan = !(a.value == a.value);
  const bool is_b_nan = !(b.value == b.value);
  if (is_a_nan != is_b_nan) return is_a_nan ? a : b;
  if (is_a_nan || a.value == b.value) return a.index < b.index ? a : b;
  return Order::of(a.value, b.value) ? a : b;
}

/// The winner of groups of `kLanes` neighbouring lanes, for all of them.
template <typename Order, int kLanes, typename C>
TILEWIRE_DEVICE Found<C> winner_of_lanes(Found<C> found) {
  TILEWIRE_UNROLL
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    const Found<C> other = {shuffle_xor(found.value, mask), shuffle_xor(found.index, mask)};
    found = winner<Order>(found, other);
  }
  return found;
}

/// Over all elements; `index` counts them in row-major order.
template <typename Order, typename T, typename TileType>
TILEWIRE_DEVICE void arg_reduce(const TileType& tile, void* shared, T& value, int& index) {
  using L = typename Operand<TileType>::Layout;
  using C = decltype(widen(T()));
  constexpr int kWarps = L::kThreads / kWarpThreads;
  constexpr int kLanes = smallest_power_of_two(kWarps);
  Found<C> found = {C(), -1};
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    if (!L::owns(threadIdx.x, i)) continue;
    found = winner<Order>(found, Found<C>{wide(tile, i), L::element(threadIdx.x, i)});
  }
  found = winner_of_lanes<Order, kWarpThreads>(found);
  if constexpr (kWarps > 1) {
    Found<C>* of_warps = static_cast<Found<C>*>(shared);
    if (threadIdx.x % kWarpThreads == 0) of_warps[threadIdx.x / kWarpThreads] = found;
    meet();
    const int lane = threadIdx.x % kLanes;
    found = winner_of_lanes<Order, kLanes>(lane < kWarps ? of_warps[lane] : Found<C>{C(), -1});
  }
  value = Narrow<T>::of(found.value);
  index = found.index;
}

/// Along the rows of a tile in `Rows` or `Fragment`, each within a warp; the results lie in the
/// slice of these rows. Nothing is shared, nobody waits.
template <typename Order, typename TileType, typename ValueTile, typename IndexTile>
TILEWIRE_DEVICE void arg_reduce_rows(const TileType& tile, ValueTile& values, IndexTile& indices) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using C = decltype(widen(T()));
  static_assert(L::kLanes <= kWarpThreads);
  TILEWIRE_UNROLL
  for (int row = 0; row < L::kThreadRows; ++row) {
    Found<C> found = {C(), -1};
    TILEWIRE_UNROLL
    for (int column = 0; column < L::kRowSlots; ++column) {
      const int i = L::slot(row, column);
      if (!L::holds_column(threadIdx.x, i)) continue;
      found = winner<Order>(found, Found<C>{wide(tile, i), L::column(threadIdx.x, i)});
    }
    found = winner_of_lanes<Order, L::kLanes>(found);
    values.set(row, Narrow<T>::of(found.value));
    indices.set(row, found.index);
  }
}

/// Hands out results that the first lanes of groups of `kLanes` hold: result number
/// round * groups + group is `of_round(round)`. Others may still be using `shared`.
template <typename ResultTile, int kLanes, typename OfRound>
TILEWIRE_DEVICE void hand_out(ResultTile& result, void* shared, const OfRound& of_round) {
  using R = typename ResultTile::Element;
  using K = typename ResultTile::Layout;
  constexpr int kGroups = K::kThreads / kLanes;
  constexpr int kRounds = (K::kElements + kGroups - 1) / kGroups;
  constexpr int kPiece = piece_elements(K::kElements, sizeof(R));
  R* results = static_cast<R*>(shared);
  for (int start = 0; start < K::kElements; start += kPiece) {
    meet();
    TILEWIRE_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const int index = round * kGroups + static_cast<int>(threadIdx.x) / kLanes;
      if (threadIdx.x % kLanes == 0 && index >= start &&
          index < smaller(start + kPiece, K::kElements)) {
        results[index - start] = of_round(round);
      }
    }
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      const int index = K::element(threadIdx.x, i) - start;
      if (index >= 0 && index < kPiece && K::holds(threadIdx.x, i)) result.set(i, results[index]);
    }
  }
}

/// Along axis `kAxis` of a tile of shape `Shape`; the results have the axis left out. The tile
/// passes through shared memory in pieces; a group of lanes works on each result.
template <typename Order, int kAxis, typename Shape, typename TileType, typename ValueTile,
          typename IndexTile>
TILEWIRE_DEVICE void arg_reduce_axis(const TileType& tile, void* shared, ValueTile& values,
                                     IndexTile& indices) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using C = decltype(widen(T()));
  constexpr int kSize = Shape::size(kAxis);
  constexpr int kResults = L::kElements / kSize;
  constexpr int kLanes = threads_per_result(kResults, L::kThreads);
  constexpr int kGroups = L::kThreads / kLanes;
  constexpr int kRounds = (kResults + kGroups - 1) / kGroups;
  constexpr int kPiece = piece_elements(L::kElements, sizeof(T));
  constexpr int kInner = inner_size<Shape>(kAxis);
  T* piece = static_cast<T*>(shared);
  Found<C> found[kRounds];
  TILEWIRE_UNROLL
  for (int round = 0; round < kRounds; ++round) found[round] = {C(), -1};

  for (int start = 0; start < L::kElements; start += kPiece) {
    if (start > 0) meet();
    put_piece<kPiece>(tile, start, piece);
    meet();
    TILEWIRE_UNROLL
    for (int round = 0; round < kRounds; ++round) {
      const int result = round * kGroups + static_cast<int>(threadIdx.x) / kLanes;
      if (result >= kResults) continue;
      const int first = result / kInner * kSize * kInner + result % kInner - start;
      for (int j = threadIdx.x % kLanes; j < kSize; j += kLanes) {
        const int index = first + j * kInner;
        if (index < 0 || index >= kPiece) continue;
        found[round] = winner<Order>(found[round], Found<C>{widen(piece[index]), j});
      }
    }
  }
  TILEWIRE_UNROLL
  for (int round = 0; round < kRounds; ++round) {
    found[round] = winner_of_lanes<Order, kLanes>(found[round]);
  }
  hand_out<ValueTile, kLanes>(values, shared,
                              [&](int round) { return Narrow<T>::of(found[round].value); });
  hand_out<IndexTile, kLanes>(indices, shared, [&](int round) { return found[round].index; });
}

}  // namespace tilewire::device

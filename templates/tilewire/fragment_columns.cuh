// Blocks of columns of tiles in the layout of products, at multiples of 8: a thread holds whole
// rows of two neighbours in every 8 columns, so that its registers get other names and nothing
// moves.
#pragma once

#include "tilewire/fragment_layout.cuh"
#include "tilewire/operators.cuh"

namespace tilewire::device {

/// The columns from `kFirst` on.
template <typename ResultTile, int kFirst, typename TileType>
TILEWIRE_DEVICE ResultTile columns_from(const TileType& tile) {
  using L = typename Operand<TileType>::Layout;
  using K = typename ResultTile::Layout;
  static_assert(kFirst % 8 == 0 && L::kRows == K::kRows);
  ResultTile result;
  TILEWIRE_UNROLL
  for (int i = 0; i < K::kRegisters; ++i) {
    const int within = i % K::kBlockSlots + kFirst / 2;
    result.set(i, element(tile, i / K::kBlockSlots * L::kBlockSlots + within));
  }
  return result;
}

/// The columns of `a`, behind them those of `b`.
template <typename ResultTile, typename TileA, typename TileB>
TILEWIRE_DEVICE ResultTile append_columns(const TileA& a, const TileB& b) {
  using K = typename ResultTile::Layout;
  constexpr int kOfA = Operand<TileA>::Layout::kBlockSlots;
  constexpr int kOfB = Operand<TileB>::Layout::kBlockSlots;
  static_assert(kOfA + kOfB == K::kBlockSlots);
  ResultTile result;
  TILEWIRE_UNROLL
  for (int i = 0; i < K::kRegisters; ++i) {
    const int block = i / K::kBlockSlots;
    const int within = i % K::kBlockSlots;
    const bool is_of_a = within < kOfA;
    result.set(
        i, is_of_a ? element(a, block * kOfA + within) : element(b, block * kOfB + within - kOfA));
  }
  return result;
}

}  // namespace tilewire::device

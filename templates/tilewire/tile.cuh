// Register tiles: a value of static shape, spread over the threads of a CTA.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

/// This thread's registers of a tile of T in layout L (layout.cuh). Padding holds any value.
template <typename T, typename L>
struct Tile {
  using Element = T;
  using Layout = L;
  static constexpr int kBytes = L::kVector * static_cast<int>(sizeof(T));
  alignas(kBytes < 16 ? (kBytes & -kBytes) : 16) T values[L::kRegisters];
};

/// What a function over tiles and scalars asks of its arguments.
template <typename A>
struct Operand {
  using Element = A;
  static constexpr bool kIsTile = false;
};
template <typename T, typename L>
struct Operand<Tile<T, L>> {
  using Element = T;
  using Layout = L;
  static constexpr bool kIsTile = true;
};

template <typename T, typename L>
TILEWIRE_DEVICE T element(const Tile<T, L>& tile, int slot) {
  return tile.values[slot];
}
template <typename T>
TILEWIRE_DEVICE T element(const T& scalar, int) {
  return scalar;
}

/// The layout of whichever argument is a tile.
template <typename A, typename... Rest>
struct LayoutOf : LayoutOf<Rest...> {};
template <typename T, typename L, typename... Rest>
struct LayoutOf<Tile<T, L>, Rest...> {
  using Layout = L;
};

/// A tile with one value everywhere.
template <typename TileType>
TILEWIRE_DEVICE TileType full(typename TileType::Element value) {
  TileType result;
  TILEWIRE_UNROLL
  for (int i = 0; i < TileType::Layout::kRegisters; ++i) result.values[i] = value;
  return result;
}

#if defined(__CUDACC__)
/// start, start + 1, … in row-major order.
template <typename TileType>
TILEWIRE_DEVICE TileType arange(typename TileType::Element start) {
  TileType result;
  TILEWIRE_UNROLL
  for (int i = 0; i < TileType::Layout::kRegisters; ++i) {
    result.values[i] = start + TileType::Layout::element(threadIdx.x, i);
  }
  return result;
}
#endif

}  // namespace tilewire::device

// Register tiles: a value of static shape, spread over the threads of a CTA.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

/// Bytes that registers are aligned to: what one access moves at most.
template <typename T, typename L>
inline constexpr int kRegisterAlignment = smaller(
    16, L::kVector* static_cast<int>(sizeof(T)) & -(L::kVector * static_cast<int>(sizeof(T))));

template <typename T, typename L, bool kIsPaired>
struct Registers {
  alignas(kRegisterAlignment<T, L>) T values[L::kRegisters];

  TILEWIRE_DEVICE T get(int slot) const { return values[slot]; }
  TILEWIRE_DEVICE void set(int slot, T value) { values[slot] = value; }
  TILEWIRE_DEVICE void fill(T value) {
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) values[i] = value;
  }
  /// Where a vector begins.
  TILEWIRE_DEVICE void* address(int slot) { return values + slot; }
  /// The 32-bit register of an element of that size.
  TILEWIRE_DEVICE uint32_t bits(int slot) const {
    static_assert(sizeof(T) == 4);
    uint32_t result;
    __builtin_memcpy(&result, values + slot, 4);
    return result;
  }
  TILEWIRE_DEVICE void set_bits(int slot, uint32_t bits) {
    static_assert(sizeof(T) == 4);
    __builtin_memcpy(values + slot, &bits, 4);
  }
};

/// Two 16-bit floats per 32-bit register, as the hardware converts and moves them.
template <typename T, typename L>
struct Registers<T, L, true> {
  alignas(kRegisterAlignment<T, L>) uint32_t pairs[L::kRegisters / 2];

  TILEWIRE_DEVICE T get(int slot) const {
    return {static_cast<uint16_t>(pairs[slot / 2] >> (slot % 2 * 16))};
  }
  TILEWIRE_DEVICE void set(int slot, T value) {
    const int shift = slot % 2 * 16;
    pairs[slot / 2] = (pairs[slot / 2] & ~(0xffffu << shift)) | uint32_t(value.bits) << shift;
  }
  TILEWIRE_DEVICE void fill(T value) {
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters / 2; ++i) pairs[i] = value.bits * 0x10001u;
  }
  TILEWIRE_DEVICE void* address(int slot) { return pairs + slot / 2; }
  /// The register of a pair, which begins at an even slot.
  TILEWIRE_DEVICE uint32_t bits(int slot) const { return pairs[slot / 2]; }
  TILEWIRE_DEVICE void set_bits(int slot, uint32_t bits) { pairs[slot / 2] = bits; }
};

template <typename T, typename L>
inline constexpr bool kIsPaired =
    kKind<T> == Kind::kNarrowFloat && sizeof(T) == 2 && L::kVector % 2 == 0;

/// This thread's registers of a tile of T in layout L (layout.cuh). Padding holds any value.
template <typename T, typename L>
struct Tile : Registers<T, L, kIsPaired<T, L>> {
  using Element = T;
  using Layout = L;
};

/// What a function over tiles and scalars asks of its arguments. Element-wise functions give lazy
/// expressions over tiles (operators.cuh), which count as tiles.
template <typename A>
struct Operand {
  using Element = A;
  using Held = A;  ///< how an expression keeps it
  static constexpr bool kIsTile = false;
};
template <typename T, typename L>
struct Operand<Tile<T, L>> {
  using Element = T;
  using Layout = L;
  using Held = const Tile<T, L>&;
  static constexpr bool kIsTile = true;
};

// The element in register `slot`; a scalar is the same everywhere.
template <typename T, typename L>
TILEWIRE_DEVICE T element(const Tile<T, L>& tile, int slot) {
  return tile.get(slot);
}
template <typename T>
TILEWIRE_DEVICE T element(const T& scalar, int) {
  return scalar;
}

/// A tile with one value everywhere.
template <typename TileType>
TILEWIRE_DEVICE TileType full(typename TileType::Element value) {
  TileType result;
  result.fill(value);
  return result;
}

#if defined(__CUDACC__)
/// start, start + 1, … in row-major order.
template <typename TileType>
TILEWIRE_DEVICE TileType arange(typename TileType::Element start) {
  TileType result;
  TILEWIRE_UNROLL
  for (int i = 0; i < TileType::Layout::kRegisters; ++i) {
    result.set(i, start + TileType::Layout::element(threadIdx.x, i));
  }
  return result;
}
#endif

}  // namespace tilewire::device

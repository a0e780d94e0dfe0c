// Conversions between element types. To floats: to nearest even; e4m3 saturates, the others
// overflow to infinity. To integers: towards zero, saturating, NaN gives 0.
#pragma once

#include "tilewire/tile.cuh"

namespace tilewire::device {

// To the type that arithmetic happens in: f32 for narrower floats, else the type itself.
template <typename T>
TILEWIRE_DEVICE T widen(T value) {
  return value;
}
TILEWIRE_DEVICE float widen(bf16 value) {
  return float_of_bits(static_cast<uint32_t>(value.bits) << 16);
}
TILEWIRE_DEVICE float widen(f16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}

/// Back to the stored type. `narrow<T>(x)` of a float x rounds to nearest even.
template <typename T>
struct Narrow {
  template <typename C>
  static TILEWIRE_DEVICE T of(C value) {
    return static_cast<T>(value);
  }
};
template <>
struct Narrow<bf16> {
  static constexpr bool kIsUpperHalf = true;  ///< of an f32
  static TILEWIRE_DEVICE bf16 of(float value) {
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};
template <>
struct Narrow<f16> {
  static constexpr bool kIsUpperHalf = false;
  static TILEWIRE_DEVICE f16 of(float value) {
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};

// Two floats, rounded, in one register; the first one below.
TILEWIRE_DEVICE uint32_t narrow_pair(bf16, float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
TILEWIRE_DEVICE uint32_t narrow_pair(f16, float first, float second) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// An argument's element in the type that arithmetic happens in.
template <typename T>
TILEWIRE_DEVICE auto wide(const T& scalar, int) {
  return widen(scalar);
}
template <typename T, typename L>
TILEWIRE_DEVICE auto wide(const Tile<T, L>& tile, int slot) {
  if constexpr (!kIsPaired<T, L>) {
    return widen(tile.get(slot));
  } else if constexpr (Narrow<T>::kIsUpperHalf) {
    const uint32_t pair = tile.pairs[slot / 2];
    return float_of_bits(slot % 2 == 0 ? pair << 16 : pair & 0xffff0000u);
  } else {
    return widen(tile.get(slot));
  }
}

}  // namespace tilewire::device

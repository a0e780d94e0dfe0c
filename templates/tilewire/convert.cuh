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
  static TILEWIRE_DEVICE bf16 of(float value) {
    bf16 result;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};
template <>
struct Narrow<f16> {
  static TILEWIRE_DEVICE f16 of(float value) {
    f16 result;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
    return result;
  }
};

/// Stores `count` values of the compute type as T; 16-bit floats go two per instruction.
template <int kCount, typename T, typename C>
TILEWIRE_DEVICE void narrow_all(T* to, const C* from) {
  TILEWIRE_UNROLL
  for (int i = 0; i < kCount; ++i) to[i] = Narrow<T>::of(from[i]);
}
#define TILEWIRE_NARROW_PAIRS(type, instruction)                        \
  template <int kCount>                                                 \
  TILEWIRE_DEVICE void narrow_all(type* to, const float* from) {        \
    TILEWIRE_UNROLL                                                     \
    for (int i = 0; i + 1 < kCount; i += 2) {                           \
      uint32_t pair;                                                    \
      asm(instruction : "=r"(pair) : "f"(from[i + 1]), "f"(from[i]));   \
      to[i].bits = static_cast<uint16_t>(pair);                         \
      to[i + 1].bits = static_cast<uint16_t>(pair >> 16);               \
    }                                                                   \
    if (kCount % 2 == 1) to[kCount - 1] = Narrow<type>::of(from[kCount - 1]); \
  }
TILEWIRE_NARROW_PAIRS(bf16, "cvt.rn.bf16x2.f32 %0, %1, %2;")
TILEWIRE_NARROW_PAIRS(f16, "cvt.rn.f16x2.f32 %0, %1, %2;")
#undef TILEWIRE_NARROW_PAIRS

}  // namespace tilewire::device

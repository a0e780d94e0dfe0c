// 8-bit floats: storage and conversions. e4m3 has no infinity and saturates at 448; e5m2 is the
// upper half of an f16. Bit arithmetic, so that it works on every GPU and on the host; from sm_89
// on the instructions that give the same (but for the sign of NaN).
#pragma once

#include "tilewire/convert.cuh"

namespace tilewire::device {

/// The code of |value| in a format with `mantissa` bits and exponent bias `bias`, not yet clamped;
/// rounded to nearest even. `bits` are those of |value|, which is not NaN.
TILEWIRE_DEVICE uint32_t fp8_code(uint32_t bits, int mantissa, int bias) {
  const uint32_t smallest_normal = static_cast<uint32_t>(127 + 1 - bias) << 23;
  if (bits < smallest_normal) {
    // Adding a power of two whose last place is the format's smallest step rounds to that step.
    const uint32_t magic = static_cast<uint32_t>(127 + 1 - bias - mantissa + 23) << 23;
    return bits_of_float(float_of_bits(bits) + float_of_bits(magic)) - magic;
  }
  const int cut = 23 - mantissa;
  bits += (1u << (cut - 1)) - 1 + (bits >> cut & 1);
  return (bits >> cut) - (static_cast<uint32_t>(127 - bias) << mantissa);
}

template <>
struct Narrow<e4m3> {
  static TILEWIRE_DEVICE e4m3 of(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    return {static_cast<uint8_t>(pair)};
#endif
    const uint32_t bits = bits_of_float(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t sign = bits >> 24 & 0x80;
    if (magnitude > 0x7f800000) return {static_cast<uint8_t>(sign | 0x7f)};
    const uint32_t code = magnitude >= 0x43e00000 ? 0x7e : fp8_code(magnitude, 3, 7);  // 448
    return {static_cast<uint8_t>(sign | code)};
  }
};

template <>
struct Narrow<e5m2> {
  static TILEWIRE_DEVICE e5m2 of(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0f), "f"(value));
    // The instruction saturates where the format has an infinity.
    const bool is_beyond = fabsf(value) >= 61440.0f;
    return {static_cast<uint8_t>(is_beyond ? (pair & 0x80) | 0x7c : pair)};
#endif
    const uint32_t bits = bits_of_float(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t sign = bits >> 24 & 0x80;
    if (magnitude > 0x7f800000) return {static_cast<uint8_t>(sign | 0x7e)};
    const uint32_t code = magnitude >= 0x47800000 ? 0x7c : fp8_code(magnitude, 2, 15);  // 65536
    return {static_cast<uint8_t>(sign | code)};
  }
};

TILEWIRE_DEVICE float widen(e4m3 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
  uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(uint16_t(value.bits)));
  return widen(f16{static_cast<uint16_t>(halves)});
#endif
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x80) << 24;
  const uint32_t code = value.bits & 0x7f;
  if (code == 0x7f) return float_of_bits(sign | 0x7fc00000);
  // The code's fields in a float's place are the value divided by 2^(127 - 7).
  const float magnitude = float_of_bits(code << 20) * float_of_bits((127 + 120) << 23);
  return float_of_bits(sign | bits_of_float(magnitude));
}

TILEWIRE_DEVICE float widen(e5m2 value) {
#if defined(__CUDACC__)
  return widen(f16{static_cast<uint16_t>(value.bits << 8)});
#endif
  const uint32_t sign = static_cast<uint32_t>(value.bits & 0x80) << 24;
  const uint32_t code = value.bits & 0x7f;
  if (code >= 0x7c) return float_of_bits(sign | (code == 0x7c ? 0x7f800000 : 0x7fc00000));
  const float magnitude = float_of_bits(code << 21) * float_of_bits((127 + 112) << 23);
  return float_of_bits(sign | bits_of_float(magnitude));
}

}  // namespace tilewire::device

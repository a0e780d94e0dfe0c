// Casts between floats that round in a direction, or saturate otherwise than the plain `cast`. Bit
// arithmetic, so that it works on every GPU and on the host; the CPU target's is
// compiler/codegen/cpu/llvm_rounding.cpp.
#pragma once

#if defined(__CUDACC__)
#include "tilewire/cast.cuh"
#endif
#include "tilewire/fp8.cuh"

namespace tilewire::device {

enum class Rounding { kNearest, kTowardZero, kUp, kDown };

/// A format's numbers, as f32.
template <int kMantissa, int kSmallestExponent, uint32_t kLargestBits, bool kInfinity>
struct FloatFormat {
  static constexpr int kMantissaBits = kMantissa;
  static constexpr int kExponent = kSmallestExponent;  ///< of the smallest normal number
  static constexpr uint32_t kLargest = kLargestBits;
  static constexpr bool kHasInfinity = kInfinity;
};
template <typename T>
struct FormatOf : FloatFormat<23, -126, 0x7f7fffff, true> {};
template <>
struct FormatOf<bf16> : FloatFormat<7, -126, 0x7f7f0000, true> {};
template <>
struct FormatOf<f16> : FloatFormat<10, -14, 0x477fe000, true> {};
template <>
struct FormatOf<e5m2> : FloatFormat<2, -14, 0x47600000, true> {};
template <>
struct FormatOf<e4m3> : FloatFormat<3, -6, 0x43e00000, false> {};

/// A positive number, given by its bits, as if `To` had no largest number. `is_away`: the direction
/// leads away from zero.
template <typename To, Rounding kRounding>
TILEWIRE_DEVICE uint32_t round_magnitude(uint32_t bits, bool is_away) {
  using Format = FormatOf<To>;
  constexpr int kCut = 23 - Format::kMantissaBits;
  if constexpr (kCut == 0) return bits;
  if (Format::kExponent > -126 && bits < uint32_t(127 + Format::kExponent) << 23) {
    // Counted in units of the format's smallest number.
    constexpr int kUnit = Format::kExponent - Format::kMantissaBits;
    const float scaled = float_of_bits(bits) * float_of_bits(uint32_t(127 - kUnit) << 23);
    const float whole = kRounding == Rounding::kNearest ? rintf(scaled)
                        : is_away                       ? ceilf(scaled)
                                                        : floorf(scaled);
    return bits_of_float(whole * float_of_bits(uint32_t(127 + kUnit) << 23));
  }
  constexpr uint32_t kMask = (uint32_t{1} << kCut) - 1;
  const uint32_t carry = kRounding == Rounding::kNearest ? (kMask >> 1) + (bits >> kCut & 1)
                         : is_away                       ? kMask
                                                         : 0;
  return (bits + carry) & ~kMask;
}

/// The value of `To` next to an f32, as an f32. `kSaturates`: what is too large, infinity too,
/// becomes the largest number; else infinity, or NaN where there is none.
template <typename To, Rounding kRounding, bool kSaturates>
TILEWIRE_DEVICE float round_float(float value) {
  using Format = FormatOf<To>;
  constexpr uint32_t kInfinity = 0x7f800000;
  const uint32_t bits = bits_of_float(value);
  const uint32_t sign = bits & 0x80000000;
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinity) return value;
  const bool is_away =
      kRounding == Rounding::kUp ? sign == 0 : kRounding == Rounding::kDown && sign != 0;
  uint32_t rounded = round_magnitude<To, kRounding>(magnitude, is_away);
  if (rounded > Format::kLargest) {
    const bool leaves =
        !kSaturates && (kRounding == Rounding::kNearest || is_away || magnitude == kInfinity);
    constexpr uint32_t kBeyond = Format::kHasInfinity ? kInfinity : 0x7fc00000;
    rounded = leaves ? kBeyond : Format::kLargest;
  }
  return float_of_bits(sign | rounded);
}

#if defined(__CUDACC__)
/// A wide float as an f32 that rounds to `To` like the value itself.
template <typename To, Rounding kRounding, typename Value>
TILEWIRE_DEVICE float narrowed(Value value) {
  if constexpr (sizeof(Value) == 4) {
    return value;
  } else if constexpr (kKind<To> == Kind::kNarrowFloat) {
    return to_odd_float(value);
  } else {
    return kRounding == Rounding::kTowardZero ? __double2float_rz(value)
           : kRounding == Rounding::kUp       ? __double2float_ru(value)
           : kRounding == Rounding::kDown     ? __double2float_rd(value)
                                              : __double2float_rn(value);
  }
}

template <typename To, Rounding kRounding, bool kSaturates>
struct CastRounded {
  template <typename Value>
  static TILEWIRE_DEVICE auto of(Value value) {
    if constexpr (sizeof(To) == 8) {
      return static_cast<To>(value);
    } else {
      return round_float<To, kRounding, kSaturates>(narrowed<To, kRounding>(value));
    }
  }
};

/// A scalar or a tile of floats in another float dtype.
template <typename To, Rounding kRounding, bool kSaturates, typename A>
TILEWIRE_DEVICE auto cast(const A& argument) {
  return apply_to<CastRounded<To, kRounding, kSaturates>, To>(argument);
}
#endif

}  // namespace tilewire::device

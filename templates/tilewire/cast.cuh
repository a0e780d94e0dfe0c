// The `cast` op, on scalars and tiles.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

// A float that rounds to nearest even in any narrower format as the wide value itself would:
// truncated, with the last bit set where something was cut off ("rounding to odd").
TILEWIRE_DEVICE float to_odd_float(double value) {
  const float truncated = __double2float_rz(value);
  const bool is_cut = static_cast<double>(truncated) != value && value == value;
  return float_of_bits(bits_of_float(truncated) | (is_cut ? 1u : 0u));
}
TILEWIRE_DEVICE float to_odd_float(long long value) {
  const float truncated = __ll2float_rz(value);
  const bool is_cut = static_cast<long long>(truncated) != value;
  return float_of_bits(bits_of_float(truncated) | (is_cut ? 1u : 0u));
}
TILEWIRE_DEVICE float to_odd_float(unsigned long long value) {
  const float truncated = __ull2float_rz(value);
  const bool is_cut = static_cast<unsigned long long>(truncated) != value;
  return float_of_bits(bits_of_float(truncated) | (is_cut ? 1u : 0u));
}

/// Towards zero, saturating; NaN gives 0.
template <typename To, typename Float>
TILEWIRE_DEVICE To to_integer(Float value) {
  constexpr bool kIsSigned = To(-1) < To(0);
  constexpr int kBits = 8 * sizeof(To) - (kIsSigned ? 1 : 0);
  constexpr To kMax = static_cast<To>(~uint64_t{0} >> (64 - kBits));
  constexpr To kMin = kIsSigned ? static_cast<To>(-kMax - 1) : To(0);
  constexpr Float kLimit = Float(uint64_t{1} << (kBits - 1)) * 2;  // one above the largest
  if (!(value == value)) return To(0);
  if (value >= kLimit) return kMax;
  if (value <= (kIsSigned ? -kLimit : Float(0))) return kMin;
  return static_cast<To>(value);
}

/// A float that rounds to any narrow float as the wide value itself does.
template <typename Value>
TILEWIRE_DEVICE float to_roundable_float(Value value) {
  if constexpr (kKind<Value> == Kind::kFloat && sizeof(Value) == 8) {
    return to_odd_float(value);
  } else if constexpr (kKind<Value> != Kind::kInteger || sizeof(Value) < 4) {
    return static_cast<float>(value);
  } else if constexpr (Value(-1) < Value(0)) {
    return to_odd_float(static_cast<long long>(value));
  } else {
    return to_odd_float(static_cast<unsigned long long>(value));
  }
}

/// A wide value on its way to `To`: rounded or saturated, except that what becomes a narrow float
/// stays a float that rounds like the value itself.
template <typename To>
struct CastTo {
  template <typename Value>
  static TILEWIRE_DEVICE auto of(Value value) {
    if constexpr (kKind<To> == Kind::kBool) {
      return value != Value(0);
    } else if constexpr (kKind<To> == Kind::kNarrowFloat) {
      return to_roundable_float(value);
    } else if constexpr (kKind<To> == Kind::kInteger && kKind<Value> == Kind::kFloat) {
      return to_integer<To>(value);
    } else {
      return static_cast<To>(value);
    }
  }
};

/// A scalar or a tile in another dtype.
template <typename To, typename A>
TILEWIRE_DEVICE auto cast(const A& argument) {
  if constexpr (Operand<A>::kIsTile) {
    return Lazy<CastTo<To>, To, typename Operand<A>::Layout, A>{argument};
  } else {
    return Narrow<To>::of(CastTo<To>::of(widen(argument)));
  }
}

}  // namespace tilewire::device

// Shifts, counts of bits, and bits under another type, on scalars and tiles.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

template <int kBytes>
struct UnsignedOf {
  using type = uint32_t;
};
template <>
struct UnsignedOf<1> {
  using type = uint8_t;
};
template <>
struct UnsignedOf<2> {
  using type = uint16_t;
};
template <>
struct UnsignedOf<8> {
  using type = uint64_t;
};
template <typename T>
using Unsigned = typename UnsignedOf<sizeof(T)>::type;

// An amount that, taken as unsigned, is at least the width shifts everything out.
struct ShiftLeft {
  template <typename T>
  static TILEWIRE_DEVICE T of(T x, T amount) {
    constexpr unsigned kBits = 8 * sizeof(T);
    const auto by = static_cast<Unsigned<T>>(amount);
    return by < kBits ? wrap<T>(uint64_t(x) << by) : T(0);
  }
};

struct ShiftRight {
  template <typename T>
  static TILEWIRE_DEVICE T of(T x, T amount) {
    constexpr unsigned kBits = 8 * sizeof(T);
    const auto by = static_cast<Unsigned<T>>(amount);
    if constexpr (T(-1) < T(0)) {
      return static_cast<T>(x >> (by < kBits ? by : kBits - 1));
    } else {
      return by < kBits ? static_cast<T>(x >> by) : T(0);
    }
  }
};

struct PopulationCount {
  template <typename T>
  static TILEWIRE_DEVICE T of(T x) {
    const auto bits = static_cast<Unsigned<T>>(x);
#if defined(__CUDACC__)
    if constexpr (sizeof(T) == 8) return static_cast<T>(__popcll(bits));
    return static_cast<T>(__popc(bits));
#else
    return static_cast<T>(std::popcount(bits));
#endif
  }
};

struct LeadingZeros {
  template <typename T>
  static TILEWIRE_DEVICE T of(T x) {
    const auto bits = static_cast<Unsigned<T>>(x);
#if defined(__CUDACC__)
    if constexpr (sizeof(T) == 8) return static_cast<T>(__clzll(bits));
    return static_cast<T>(__clz(bits) - (32 - 8 * int(sizeof(T))));
#else
    return static_cast<T>(std::countl_zero(bits));
#endif
  }
};

TILEWIRE_FUNCTION(shift_left, ShiftLeft)
TILEWIRE_FUNCTION(shift_right, ShiftRight)
TILEWIRE_FUNCTION(popcount, PopulationCount)
TILEWIRE_FUNCTION(clz, LeadingZeros)

template <typename To, typename From>
TILEWIRE_DEVICE To with_bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  memcpy(&result, &value, sizeof(To));
  return result;
}

struct Bitcast {};

/// Elements go from register to register: a conversion on the way would change NaNs.
template <typename T, typename L, typename A>
struct Lazy<Bitcast, T, L, A> {
  typename Operand<A>::Held a;
  TILEWIRE_DEVICE T exact(int slot) const { return with_bits_of<T>(element(a, slot)); }
  TILEWIRE_DEVICE auto wide(int slot) const { return widen(exact(slot)); }
  TILEWIRE_DEVICE operator Tile<T, L>() const {
    Tile<T, L> result;
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) result.set(i, exact(i));
    return result;
  }
};

template <typename T, typename L, typename A>
TILEWIRE_DEVICE T element(const Lazy<Bitcast, T, L, A>& lazy, int slot) {
  return lazy.exact(slot);
}

/// A scalar's or a tile's bits as values of another dtype of the same width.
template <typename To, typename A>
TILEWIRE_DEVICE auto bitcast(const A& argument) {
  if constexpr (Operand<A>::kIsTile) {
    return Lazy<Bitcast, To, typename Operand<A>::Layout, A>{argument};
  } else {
    return with_bits_of<To>(argument);
  }
}

}  // namespace tilewire::device

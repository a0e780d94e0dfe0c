// Arithmetic and bits, on scalars and tiles.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

struct Subtract {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    if constexpr (kKind<T> == Kind::kInteger) return wrap<T>(uint64_t(a) - uint64_t(b));
    return a - b;
  }
};

struct Multiply {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    if constexpr (kKind<T> == Kind::kInteger) return wrap<T>(uint64_t(a) * uint64_t(b));
    return a * b;
  }
};

struct Divide {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    return a / b;
  }
};

/// The remainder with the sign of b, as in Python; of an integer by 0 it is 0.
struct Modulo {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    if constexpr (kKind<T> == Kind::kInteger) {
      if (b == 0 || b == T(-1)) return b == 0 || T(-1) < T(0) ? T(0) : static_cast<T>(a % b);
      const T remainder = static_cast<T>(a % b);
      return remainder != 0 && (remainder < 0) != (b < 0) ? static_cast<T>(remainder + b)
                                                          : remainder;
    } else {
      const T remainder = fmod(a, b);
      if (remainder == 0) return copysign(T(0), b);
      return (remainder < 0) != (b < 0) ? remainder + b : remainder;
    }
  }
};

/// The quotient rounded down, as in Python; of an integer by 0 it is 0.
struct FloorDivide {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    if constexpr (kKind<T> == Kind::kInteger) {
      if (b == 0) return T(0);
      if (T(-1) < T(0) && b == T(-1)) return wrap<T>(uint64_t(0) - uint64_t(a));
      const T quotient = static_cast<T>(a / b);
      const bool is_whole = wrap<T>(uint64_t(quotient) * uint64_t(b)) == a;
      return !is_whole && (a < 0) != (b < 0) ? static_cast<T>(quotient - 1) : quotient;
    } else {
      if (b == 0) return a / b;
      // As CPython: exact with the remainder taken off first.
      const T quotient = (a - Modulo::of(a, b)) / b;
      const T below = floor(quotient);
      return quotient == 0 ? copysign(T(0), a / b) : quotient - below > T(0.5) ? below + 1 : below;
    }
  }
};

/// a · b + c, rounded once.
struct MultiplyAdd {
  static TILEWIRE_DEVICE float of(float a, float b, float c) { return fmaf(a, b, c); }
  static TILEWIRE_DEVICE double of(double a, double b, double c) { return ::fma(a, b, c); }
};

struct And {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};

TILEWIRE_FUNCTION(add, Add)
TILEWIRE_FUNCTION(sub, Subtract)
TILEWIRE_FUNCTION(mul, Multiply)
TILEWIRE_FUNCTION(div, Divide)
TILEWIRE_FUNCTION(floordiv, FloorDivide)
TILEWIRE_FUNCTION(mod, Modulo)
TILEWIRE_FUNCTION(minimum, Minimum)
TILEWIRE_FUNCTION(maximum, Maximum)
TILEWIRE_FUNCTION(fma, MultiplyAdd)
TILEWIRE_FUNCTION(bit_and, And)
TILEWIRE_FUNCTION(bit_or, Or)
TILEWIRE_FUNCTION(bit_xor, Xor)

/// `floordiv`, a bit of the quotient at a time: slow, in few registers, and no call of a function,
/// over which a role of few registers (roles.cuh) could keep none of its own.
TILEWIRE_DEVICE int64_t floordiv_by_bits(int64_t a, int64_t b) {
  if (b == 0) return 0;
  const uint64_t divisor = b < 0 ? 0 - uint64_t(b) : uint64_t(b);
  uint64_t quotient = a < 0 ? 0 - uint64_t(a) : uint64_t(a);  // its bits make room for the result's
  uint64_t rest = 0;
  TILEWIRE_ROLLED
  for (int i = 0; i < 64; ++i) {
    rest = rest << 1 | quotient >> 63;
    quotient <<= 1;
    if (rest >= divisor) {
      rest -= divisor;
      quotient |= 1;
    }
  }
  if ((a < 0) != (b < 0)) quotient = 0 - quotient - (rest != 0 ? 1 : 0);
  return wrap<int64_t>(quotient);
}

/// `floordiv` of indices by what only the launch knows. They are numbers of tiles, as a rule:
/// small, not negative, and many of them below the divisor, so that they need no division of 64
/// bits, which takes a hundred instructions.
TILEWIRE_DEVICE int64_t floordiv_index(int64_t a, int64_t b) {
  if (a >= 0 && a < b) return 0;
  if ((uint64_t(a) | uint64_t(b)) >> 32 == 0 && b != 0) return uint32_t(a) / uint32_t(b);
#if defined(TILEWIRE_FEW_REGISTERS)
  return floordiv_by_bits(a, b);
#else
  return FloorDivide::of(a, b);
#endif
}
/// `mod` of the same.
TILEWIRE_DEVICE int64_t mod_index(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return wrap<int64_t>(uint64_t(a) - uint64_t(floordiv_index(a, b)) * uint64_t(b));
}

}  // namespace tilewire::device

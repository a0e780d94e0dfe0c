// Mathematical functions, on scalars and tiles. Accurate versions, computed in f32 or f64.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

struct Negate {
  template <typename T>
  static TILEWIRE_DEVICE T of(T x) {
    if constexpr (kKind<T> == Kind::kInteger) return wrap<T>(uint64_t(0) - uint64_t(x));
    return -x;
  }
};

struct Not {
  template <typename T>
  static TILEWIRE_DEVICE T of(T x) {
    if constexpr (kKind<T> == Kind::kBool) return !x;
    return static_cast<T>(~x);
  }
};

struct Absolute {
  template <typename T>
  static TILEWIRE_DEVICE T of(T x) {
    if constexpr (kKind<T> == Kind::kFloat) return copysign(x, T(1));
    return x < T(0) ? Negate::of(x) : x;
  }
};

#define TILEWIRE_MATH(Op, f32_expression, f64_expression)                 \
  struct Op {                                                             \
    static TILEWIRE_DEVICE float of(float x) { return f32_expression; }   \
    static TILEWIRE_DEVICE double of(double x) { return f64_expression; } \
  };
TILEWIRE_MATH(Floor, floorf(x), floor(x))
TILEWIRE_MATH(Ceil, ceilf(x), ceil(x))
TILEWIRE_MATH(Round, rintf(x), rint(x))
TILEWIRE_MATH(Trunc, truncf(x), ::trunc(x))
TILEWIRE_MATH(Exp, expf(x), exp(x))
TILEWIRE_MATH(Exp2, exp2f(x), exp2(x))
TILEWIRE_MATH(Log, logf(x), log(x))
TILEWIRE_MATH(Log2, log2f(x), log2(x))
TILEWIRE_MATH(Sqrt, sqrtf(x), sqrt(x))
TILEWIRE_MATH(Rsqrt, rsqrtf(x), rsqrt(x))
TILEWIRE_MATH(Sin, sinf(x), ::sin(x))
TILEWIRE_MATH(Cos, cosf(x), ::cos(x))
TILEWIRE_MATH(Tanh, tanhf(x), tanh(x))
TILEWIRE_MATH(Erf, erff(x), erf(x))
TILEWIRE_MATH(Sigmoid, 1.0f / (1.0f + expf(-x)), 1.0 / (1.0 + exp(-x)))
#undef TILEWIRE_MATH

struct Power {
  static TILEWIRE_DEVICE float of(float a, float b) { return powf(a, b); }
  static TILEWIRE_DEVICE double of(double a, double b) { return ::pow(a, b); }
};

TILEWIRE_FUNCTION(neg, Negate)
TILEWIRE_FUNCTION(bit_not, Not)
TILEWIRE_FUNCTION(abs, Absolute)
TILEWIRE_FUNCTION(floor, Floor)
TILEWIRE_FUNCTION(ceil, Ceil)
TILEWIRE_FUNCTION(round, Round)
TILEWIRE_FUNCTION(trunc, Trunc)
TILEWIRE_FUNCTION(exp, Exp)
TILEWIRE_FUNCTION(exp2, Exp2)
TILEWIRE_FUNCTION(log, Log)
TILEWIRE_FUNCTION(log2, Log2)
TILEWIRE_FUNCTION(sqrt, Sqrt)
TILEWIRE_FUNCTION(rsqrt, Rsqrt)
TILEWIRE_FUNCTION(sin, Sin)
TILEWIRE_FUNCTION(cos, Cos)
TILEWIRE_FUNCTION(pow, Power)
TILEWIRE_FUNCTION(tanh, Tanh)
TILEWIRE_FUNCTION(erf, Erf)
TILEWIRE_FUNCTION(sigmoid, Sigmoid)

}  // namespace tilewire::device

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

/// 1 / x of a number from 1 on, wrong by at most one unit in the last place; 0 beyond 2^126.
TILEWIRE_DEVICE float inverse(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// x · P(x²) / Q(x²), from a minimax fit of erf(x) / x up to 3.92, where erf becomes 1 in f32;
/// wrong by at most 6 units in the last place. It has three quarters of the instructions of CUDA's
/// erff, which chooses coefficients by the size of x: a bandwidth-bound kernel has time for this
/// one.
TILEWIRE_DEVICE float erf_by_quotient(float x) {
  const float s = Minimum::of(x * x, 15.3664f);
  float p = 2.050076318e-06f;
  p = fmaf(p, s, 2.848748700e-04f);
  p = fmaf(p, s, 3.765415167e-03f);
  p = fmaf(p, s, 5.274808779e-02f);
  p = fmaf(p, s, 1.904022396e-01f);
  p = fmaf(p, s, 1.128379107e+00f);
  float q = 3.809119153e-05f;
  q = fmaf(q, s, 1.162480447e-03f);
  q = fmaf(q, s, 1.496881431e-02f);
  q = fmaf(q, s, 1.141072959e-01f);
  q = fmaf(q, s, 5.020723343e-01f);
  q = fmaf(q, s, 1.0f);
  return Minimum::of(Maximum::of(x * p * inverse(q), -1.0f), 1.0f);
}

/// Without the division's way for small and large divisors, a call that keeps the compiler from
/// computing several elements side by side.
TILEWIRE_DEVICE float sigmoid_by_inverse(float x) { return inverse(1.0f + expf(-x)); }

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
TILEWIRE_MATH(Erf, erf_by_quotient(x), erf(x))
TILEWIRE_MATH(Sigmoid, sigmoid_by_inverse(x), 1.0 / (1.0 + exp(-x)))
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

// What single operators do to values of one dtype, and how they apply to scalars and tiles.
#pragma once

#include "tilewire/convert.cuh"

namespace tilewire::device {

// Integers wrap around, as they do on every machine; C++ leaves that open for signed ones.
template <typename T>
TILEWIRE_DEVICE T wrap(uint64_t value) {
  return static_cast<T>(value);
}

struct Add {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    if constexpr (kKind<T> == Kind::kInteger) return wrap<T>(uint64_t(a) + uint64_t(b));
    return a + b;
  }
};

struct Maximum {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    return a > b || !(a == a) ? a : b;
  }
};

struct Minimum {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    return a < b || !(a == a) ? a : b;
  }
};

/// Op on stored values: widened, computed, rounded back once. A bool result stays one.
template <typename Op, typename T, typename... Rest>
TILEWIRE_DEVICE auto compute(T first, Rest... rest) {
  using Result = decltype(Op::of(widen(first), widen(rest)...));
  if constexpr (kKind<Result> == Kind::kBool) {
    return Op::of(widen(first), widen(rest)...);
  } else {
    return Narrow<T>::of(Op::of(widen(first), widen(rest)...));
  }
}

/// Op on scalars, or element by element where an argument is a tile.
template <typename Op, typename First, typename... Rest>
TILEWIRE_DEVICE auto apply(const First& first, const Rest&... rest) {
  if constexpr (!(Operand<First>::kIsTile || ... || Operand<Rest>::kIsTile)) {
    return compute<Op>(first, rest...);
  } else {
    using T = typename Operand<First>::Element;
    using L = typename LayoutOf<First, Rest...>::Layout;
    using Wide = decltype(Op::of(widen(element(first, 0)), widen(element(rest, 0))...));
    using Result = decltype(compute<Op>(element(first, 0), element(rest, 0)...));
    Tile<Result, L> result;
    if constexpr (kKind<Result> == Kind::kNarrowFloat) {
      Wide wide[L::kRegisters];
      TILEWIRE_UNROLL
      for (int i = 0; i < L::kRegisters; ++i) {
        wide[i] = Op::of(widen(element(first, i)), widen(element(rest, i))...);
      }
      narrow_all<L::kRegisters>(result.values, wide);
    } else {
      TILEWIRE_UNROLL
      for (int i = 0; i < L::kRegisters; ++i) {
        result.values[i] = compute<Op>(element(first, i), element(rest, i)...);
      }
    }
    return result;
  }
}

/// Defines `name(a…)`, the operator `Op` on scalars and tiles.
#define TILEWIRE_FUNCTION(name, Op)                 \
  template <typename... A>                          \
  TILEWIRE_DEVICE auto name(const A&... arguments) { \
    return apply<Op>(arguments...);                 \
  }

}  // namespace tilewire::device

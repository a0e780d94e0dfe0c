// Comparisons and selection, on scalars and tiles.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

struct Equal {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a == b;
  }
};
struct NotEqual {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a != b;
  }
};
struct Less {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a < b;
  }
};
struct LessEqual {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a <= b;
  }
};
struct Greater {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a > b;
  }
};
struct GreaterEqual {
  template <typename T>
  static TILEWIRE_DEVICE bool of(T a, T b) {
    return a >= b;
  }
};

TILEWIRE_FUNCTION(eq, Equal)
TILEWIRE_FUNCTION(ne, NotEqual)
TILEWIRE_FUNCTION(lt, Less)
TILEWIRE_FUNCTION(le, LessEqual)
TILEWIRE_FUNCTION(gt, Greater)
TILEWIRE_FUNCTION(ge, GreaterEqual)

/// a where the condition holds, else b; each a scalar or a tile.
template <typename Condition, typename A, typename B>
TILEWIRE_DEVICE auto select(const Condition& condition, const A& a, const B& b) {
  if constexpr (!(Operand<Condition>::kIsTile || Operand<A>::kIsTile || Operand<B>::kIsTile)) {
    return condition ? a : b;
  } else {
    using L = typename LayoutOf<Condition, A, B>::Layout;
    Tile<typename Operand<A>::Element, L> result;
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; ++i) {
      result.values[i] = element(condition, i) ? element(a, i) : element(b, i);
    }
    return result;
  }
}

}  // namespace tilewire::device

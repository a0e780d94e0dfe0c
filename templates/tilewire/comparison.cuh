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

struct Choose {};

template <typename T, typename L, typename C, typename A, typename B>
struct Lazy<Choose, T, L, C, A, B> {
  typename Operand<C>::Held condition;
  typename Operand<A>::Held a;
  typename Operand<B>::Held b;
  TILEWIRE_DEVICE auto wide(int slot) const {
    return widen(element(condition, slot) ? element(a, slot) : element(b, slot));
  }
  TILEWIRE_DEVICE operator Tile<T, L>() const { return materialise<T, L>(*this); }
};

/// a where the condition holds, else b; each a scalar or a tile, one of them a tile.
template <typename C, typename A, typename B>
TILEWIRE_DEVICE auto select(const C& condition, const A& a, const B& b) {
  using L = typename LayoutOf<Operand<C>::kIsTile, C, A, B>::Layout;
  return Lazy<Choose, typename Operand<A>::Element, L, C, A, B>{condition, a, b};
}

}  // namespace tilewire::device

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

/// NaN wins; of two zeros, the positive one.
struct Maximum {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    if constexpr (kKind<T> == Kind::kFloat) {
      if (a == b) return copysign(T(1), a) > 0 ? a : b;
    }
    return a > b || !(a == a) ? a : b;
  }
#if defined(__CUDACC__)
  static TILEWIRE_DEVICE float of(float a, float b) {
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
#endif
};

/// NaN wins; of two zeros, the negative one.
struct Minimum {
  template <typename T>
  static TILEWIRE_DEVICE T of(T a, T b) {
    if constexpr (kKind<T> == Kind::kFloat) {
      if (a == b) return copysign(T(1), a) < 0 ? a : b;
    }
    return a < b || !(a == a) ? a : b;
  }
#if defined(__CUDACC__)
  static TILEWIRE_DEVICE float of(float a, float b) {
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
  }
#endif
};

/// An element-wise expression over tiles: computed where it is assigned to a tile or consumed, in
/// one loop for all of its operators. It refers to its tiles, so it must not outlive the statement
/// that it stands in: variables have tile types, never `auto`.
template <typename Op, typename T, typename L, typename... A>
struct Lazy;

template <typename Op, typename T, typename L, typename... A>
TILEWIRE_DEVICE T element(const Lazy<Op, T, L, A...>& lazy, int slot);
template <typename Op, typename T, typename L, typename... A>
TILEWIRE_DEVICE auto wide(const Lazy<Op, T, L, A...>& lazy, int slot);
template <typename T, typename L, typename LazyType>
TILEWIRE_DEVICE Tile<T, L> materialise(const LazyType& lazy);

/// A slice that is repeated (shape.cuh).
template <typename T, typename L, typename S, typename E>
struct Spread;
template <typename T, typename L, typename S, typename E>
TILEWIRE_DEVICE T element(const Spread<T, L, S, E>& spread, int slot);
template <typename T, typename L, typename S, typename E>
TILEWIRE_DEVICE auto wide(const Spread<T, L, S, E>& spread, int slot);

/// Some of the slots of a tile, and a tile that comes so (pieces.cuh).
template <typename T, typename L, int kCount>
struct TilePiece;
template <typename T, typename L, int kCount>
TILEWIRE_DEVICE T element(const TilePiece<T, L, kCount>& piece, int slot);
template <typename T, typename L, int kCount>
TILEWIRE_DEVICE auto wide(const TilePiece<T, L, kCount>& piece, int slot);
template <typename T, typename L, typename Source>
struct InPieces;
template <typename T, typename L, typename Source>
TILEWIRE_DEVICE auto wide(const InPieces<T, L, Source>&, int) {
  return widen(T{});  // for its type: elements are those of pieces
}

/// Slots of the largest piece that some part of an expression comes in (pieces.cuh), which is then
/// computed so: the first slots, the ones behind them, each once. 0: none does.
template <typename A>
inline constexpr int kPieceSlots = 0;
template <typename Op, typename T, typename L>
inline constexpr int kPieceSlots<Lazy<Op, T, L>> = 0;
template <typename Op, typename T, typename L, typename A, typename... Rest>
inline constexpr int kPieceSlots<Lazy<Op, T, L, A, Rest...>> =
    kPieceSlots<A> > kPieceSlots<Lazy<Op, T, L, Rest...>> ? kPieceSlots<A>
                                                          : kPieceSlots<Lazy<Op, T, L, Rest...>>;

/// An expression for `kCount` of its slots, from `first` on.
template <int kCount, typename A>
TILEWIRE_DEVICE decltype(auto) piece_of(const A& a, int first) {
  if constexpr (kPieceSlots<A> == 0) {
    return (a);
  } else {
    return a.template piece<kCount>(first);
  }
}
template <typename Op, typename T, typename L, typename... A>
TILEWIRE_DEVICE auto lazily(const A&... a) {
  return Lazy<Op, T, L, A...>{a...};
}

template <typename Op, typename T, typename L, typename A>
struct Lazy<Op, T, L, A> {
  typename Operand<A>::Held a;
  /// The element before it is rounded to T.
  TILEWIRE_DEVICE auto wide(int slot) const { return Op::of(device::wide(a, slot)); }
  template <int kCount>
  TILEWIRE_DEVICE auto piece(int first) const {
    return lazily<Op, T, L>(piece_of<kCount>(a, first));
  }
  TILEWIRE_DEVICE operator Tile<T, L>() const { return materialise<T, L>(*this); }
};

template <typename Op, typename T, typename L, typename A, typename B>
struct Lazy<Op, T, L, A, B> {
  typename Operand<A>::Held a;
  typename Operand<B>::Held b;
  TILEWIRE_DEVICE auto wide(int slot) const {
    return Op::of(device::wide(a, slot), device::wide(b, slot));
  }
  template <int kCount>
  TILEWIRE_DEVICE auto piece(int first) const {
    return lazily<Op, T, L>(piece_of<kCount>(a, first), piece_of<kCount>(b, first));
  }
  TILEWIRE_DEVICE operator Tile<T, L>() const { return materialise<T, L>(*this); }
};

template <typename Op, typename T, typename L, typename A, typename B, typename C>
struct Lazy<Op, T, L, A, B, C> {
  typename Operand<A>::Held a;
  typename Operand<B>::Held b;
  typename Operand<C>::Held c;
  TILEWIRE_DEVICE auto wide(int slot) const {
    return Op::of(device::wide(a, slot), device::wide(b, slot), device::wide(c, slot));
  }
  template <int kCount>
  TILEWIRE_DEVICE auto piece(int first) const {
    return lazily<Op, T, L>(piece_of<kCount>(a, first), piece_of<kCount>(b, first),
                            piece_of<kCount>(c, first));
  }
  TILEWIRE_DEVICE operator Tile<T, L>() const { return materialise<T, L>(*this); }
};

template <typename Op, typename T, typename L, typename... A>
struct Operand<Lazy<Op, T, L, A...>> {
  using Element = T;
  using Layout = L;
  using Held = Lazy<Op, T, L, A...>;
  static constexpr bool kIsTile = true;
};

template <typename Op, typename T, typename L, typename... A>
TILEWIRE_DEVICE T element(const Lazy<Op, T, L, A...>& lazy, int slot) {
  return Narrow<T>::of(lazy.wide(slot));
}
template <typename Op, typename T, typename L, typename... A>
TILEWIRE_DEVICE auto wide(const Lazy<Op, T, L, A...>& lazy, int slot) {
  return widen(element(lazy, slot));
}

/// Slots [first, last) of a tile that an expression gives.
template <typename T, typename L, typename LazyType>
TILEWIRE_DEVICE void compute(Tile<T, L>& result, const LazyType& lazy, int first, int last) {
  if constexpr (kIsPaired<T, L>) {
    TILEWIRE_UNROLL
    for (int i = first; i < last; i += 2) {
      result.pairs[i / 2] = narrow_pair(T(), lazy.wide(i), lazy.wide(i + 1));
    }
  } else {
    TILEWIRE_UNROLL
    for (int i = first; i < last; ++i) result.set(i, Narrow<T>::of(lazy.wide(i)));
  }
}
template <typename T, typename L, typename LazyType>
TILEWIRE_DEVICE Tile<T, L> materialise(const LazyType& lazy) {
  Tile<T, L> result;
  if constexpr (kPieceSlots<LazyType> == 0) {
    compute(result, lazy, 0, L::kRegisters);
  } else {
    constexpr int kCount = kPieceSlots<LazyType>;
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; i += kCount) {
      compute(result, piece_of<kCount>(lazy, i), i, i + kCount);
    }
  }
  return result;
}

/// The layout of whichever argument is a tile.
template <bool kIsFirstTile, typename First, typename... Rest>
struct LayoutOf {
  using Layout = typename Operand<First>::Layout;
};
template <typename First, typename Second, typename... Rest>
struct LayoutOf<false, First, Second, Rest...> {
  using Layout = typename LayoutOf<Operand<Second>::kIsTile, Second, Rest...>::Layout;
};

/// The dtype of a result: what the operator gives, rounded to T; a bool stays one.
template <typename T, typename Wide>
struct Rounded {
  using type = T;
};
template <typename T>
struct Rounded<T, bool> {
  using type = bool;
};

/// Op with results of R on scalars, or an expression where an argument is a tile.
template <typename Op, typename R, typename First, typename... Rest>
TILEWIRE_DEVICE auto apply_to(const First& first, const Rest&... rest) {
  if constexpr ((Operand<First>::kIsTile || ... || Operand<Rest>::kIsTile)) {
    using L = typename LayoutOf<Operand<First>::kIsTile, First, Rest...>::Layout;
    return Lazy<Op, R, L, First, Rest...>{first, rest...};
  } else {
    return Narrow<R>::of(Op::of(widen(first), widen(rest)...));
  }
}

/// The same with results of the arguments' dtype, or bool.
template <typename Op, typename First, typename... Rest>
TILEWIRE_DEVICE auto apply(const First& first, const Rest&... rest) {
  using T = typename Operand<First>::Element;
  using Wide = decltype(Op::of(wide(first, 0), wide(rest, 0)...));
  return apply_to<Op, typename Rounded<T, Wide>::type>(first, rest...);
}

/// Writes a tile's elements from number `start` on to `piece`, which has room for `kPiece`: each
/// thread those that it owns.
template <int kPiece, typename T, typename TileType>
TILEWIRE_DEVICE void put_piece(const TileType& tile, int start, T* piece) {
  using L = typename Operand<TileType>::Layout;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    const int index = L::element(threadIdx.x, i) - start;
    if (index >= 0 && index < kPiece && L::owns(threadIdx.x, i)) {
      piece[index] = element(tile, i);
    }
  }
}

/// Defines `name(a…)`, the operator `Op` on scalars and tiles.
#define TILEWIRE_FUNCTION(name, Op)                  \
  template <typename... A>                           \
  TILEWIRE_DEVICE auto name(const A&... arguments) { \
    return apply<Op>(arguments...);                  \
  }

}  // namespace tilewire::device

// Tiles that come in pieces: what is added to products, and would be many registers beside theirs.
// An expression with such parts is computed piece by piece (`materialise`), so that no more than a
// piece of each is there at a time. It is computed once, whole, before what its parts come from is
// used again.
#pragma once

#include "tilewire/fragment_rows.cuh"
#include "tilewire/shape.cuh"

namespace tilewire::device {

/// What a layout says of the registers of a piece.
template <int kCount>
struct PieceSlots {
  static constexpr int kRegisters = kCount;
  static constexpr int kVector = 2;
};

/// `kCount` slots of a tile of T in layout L, from number `first` on.
template <typename T, typename L, int kCount>
struct TilePiece {
  Tile<T, PieceSlots<kCount>> held;
  int first;
};
template <typename T, typename L, int kCount>
struct Operand<TilePiece<T, L, kCount>> {
  using Element = T;
  using Layout = L;
  using Held = TilePiece<T, L, kCount>;
  static constexpr bool kIsTile = true;
};
template <typename T, typename L, int kCount>
TILEWIRE_DEVICE T element(const TilePiece<T, L, kCount>& piece, int slot) {
  return piece.held.get(slot - piece.first);
}
template <typename T, typename L, int kCount>
TILEWIRE_DEVICE auto wide(const TilePiece<T, L, kCount>& piece, int slot) {
  return widen(piece.held.get(slot - piece.first));
}

/// A tile of T in layout L of which `source` has one piece after the other.
template <typename T, typename L, typename Source>
struct InPieces {
  Source source;

  template <int kCount>
  TILEWIRE_DEVICE TilePiece<T, L, kCount> piece(int first) const {
    __syncwarp();  // between pieces: the next one doesn't come while this one is in use
    TilePiece<T, L, kCount> result;
    result.first = first;
    source.give(result);
    return result;
  }
};
template <typename T, typename L, typename Source>
struct Operand<InPieces<T, L, Source>> {
  using Element = T;
  using Layout = L;
  using Held = const InPieces<T, L, Source>&;
  static constexpr bool kIsTile = true;
};
template <typename T, typename L, typename Source>
inline constexpr int kPieceSlots<InPieces<T, L, Source>> = Source::kPieceSlots;

/// Rows from memory.
template <typename T, typename F, int kVector, Cache kCache, typename A>
struct RowPieces {
  using Rows = IncomingRows<T, F, kVector, kCache, A>;
  static constexpr int kPieceSlots = Rows::kPieceSlots;
  mutable Rows rows;

  template <int kCount>
  TILEWIRE_DEVICE void give(TilePiece<T, F, kCount>& piece) const {
    static_assert(kCount % kPieceSlots == 0);
    TILEWIRE_UNROLL
    for (int i = 0; i < kCount; i += kPieceSlots) {
      rows.take(piece.held, i, Rows::piece_at(piece.first + i));
    }
  }
};
/// `load_rows` in pieces.
template <typename ResultTile, int kVector, Cache kCache = Cache::kDefault, typename A>
TILEWIRE_DEVICE auto rows_in_pieces(const A& access, void* shared) {
  using T = typename ResultTile::Element;
  using F = typename ResultTile::Layout;
  using Source = RowPieces<T, F, kVector, kCache, A>;
  return InPieces<T, F, Source>{Source{typename Source::Rows(access, shared)}};
}

/// One element per column in layout `S`, of which each lane of a warp keeps a part and hands it to
/// the others: of 256 columns a thread has 8 in registers instead of 64.
template <typename T, typename S>
struct ColumnPieces {
  static constexpr int kPieceSlots = smaller(8, S::kRegisters & -S::kRegisters);
  // Of every 8 blocks of 8 columns, lane l has in block l / 4 what it has of each block in `S`.
  static constexpr int kPairs = divide_up(S::kElements / 8, 8);
  T values[2 * kPairs];

  static TILEWIRE_DEVICE int column(int pair) {
    const int lane = static_cast<int>(this_thread()) % kWarpThreads;
    return (pair * 8 + lane / 4) * 8 + lane % 4 * 2;
  }
  template <int kCount>
  TILEWIRE_DEVICE void give(TilePiece<T, S, kCount>& piece) const {
    const int lane = static_cast<int>(this_thread()) % 4;
    TILEWIRE_UNROLL
    for (int i = 0; i < kCount; i += 2) {
      const int block = (piece.first + i) / 2;
      const int from = block % 8 * 4 + lane;
      const T* pair = values + block / 8 * 2;
      if constexpr (kIsPaired<T, PieceSlots<kCount>>) {
        uint32_t both;
        __builtin_memcpy(&both, pair, sizeof(both));
        piece.held.set_bits(i, __shfl_sync(0xffffffff, both, from));
      } else {
        piece.held.set(i, __shfl_sync(0xffffffff, pair[0], from));
        piece.held.set(i + 1, __shfl_sync(0xffffffff, pair[1], from));
      }
    }
  }
};
/// `load` of one element per column, in pieces. Elements that don't exist are 0.
template <typename ResultTile, int kVector, Cache kCache = Cache::kDefault, typename A>
TILEWIRE_DEVICE auto columns_in_pieces(const A& access) {
  using T = typename ResultTile::Element;
  using S = typename ResultTile::Layout;
  static_assert(A::kRank == 1 && A::kElements == S::kElements);
  const Span exist = access.template existing<0>();
  InPieces<T, S, ColumnPieces<T, S>> result;
  TILEWIRE_UNROLL
  for (int k = 0; k < ColumnPieces<T, S>::kPairs; ++k) {
    const int column = ColumnPieces<T, S>::column(k);
    T* from = access.pointer + column * access.strides[0];
    T* both = result.source.values + 2 * k;
    both[0] = both[1] = T{};
    if (kVector >= 2 && exist.has(column) && exist.has(column + 1)) {
      const auto word = fetch<kCache>(word_at<typename Word<2 * sizeof(T)>::type>(from));
      __builtin_memcpy(both, &word, sizeof(word));
    } else {
      if (exist.has(column)) both[0] = fetch_element<kCache>(from);
      if (exist.has(column + 1)) both[1] = fetch_element<kCache>(from + access.strides[0]);
    }
  }
  return result;
}

}  // namespace tilewire::device

// Tiles made of elements at other places of a tile: transposed, a part, flipped, joined, gathered.
// The elements pass through shared memory in pieces: all threads of the CTA take part in the
// __syncthreads inside, and nobody may still be using `shared`.
#pragma once

#include "tilewire/meet.cuh"
#include "tilewire/shape.cuh"

namespace tilewire::device {

/// Where an element of a result of shape `Result` comes from, if all steps are even: number
/// `kFirst` is the result's first element, kSteps... what lies between neighbours.
template <typename Result, int kFirst, int... kSteps>
struct Walk {
  static TILEWIRE_CONSTEXPR int source(int index) {
    const int steps[] = {kSteps...};
    int place = kFirst;
    TILEWIRE_UNROLL
    for (int i = Result::kRank - 1; i >= 0; --i) {
      place += (i == 0 ? index : index % Result::size(i)) * steps[i];
      index /= Result::size(i);
    }
    return place;
  }
};

/// What `take` may rely on.
enum class Taken { kAll, kSome };

/// Where element `index` of a piece lies: a word is left out after every `kRow` elements, so that
/// neighbours in a column are in different banks. 0: none is left out.
template <int kRow, typename T>
TILEWIRE_CONSTEXPR int padded(int index) {
  if constexpr (kRow > 0) {
    return index + index / kRow * pad_elements(sizeof(T));
  } else {
    return index;
  }
}

/// As `put_piece`, with padding.
template <int kPiece, int kRow, typename T, typename TileType>
TILEWIRE_DEVICE void put_padded(const TileType& tile, int start, T* piece) {
  using L = typename Operand<TileType>::Layout;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    const int index = L::element(threadIdx.x, i) - start;
    if (index >= 0 && index < kPiece && L::owns(threadIdx.x, i)) {
      piece[padded<kRow, T>(index)] = element(tile, i);
    }
  }
}

/// Fills the registers of `result` for which `source(slot, element)` is the number of an element of
/// the tile: all of them, or some, where it is any other number for the others.
template <Taken kTaken, bool kIsSharedInUse, int kRow, typename ResultTile, typename TileType,
          typename Source>
TILEWIRE_DEVICE void take(ResultTile& result, const TileType& tile, void* shared,
                          const Source& source) {
  using T = typename Operand<TileType>::Element;
  using L = typename Operand<TileType>::Layout;
  using K = typename ResultTile::Layout;
  constexpr int kPiece = piece_elements(L::kElements, sizeof(T));
  constexpr bool kIsAllHere = kTaken == Taken::kAll && kPiece == L::kElements;
  T* piece = static_cast<T*>(shared);
  TILEWIRE_ROLLED
  for (int start = 0; start < L::kElements; start += kPiece) {
    if (kIsSharedInUse || start > 0) meet();
    put_padded<kPiece, kRow>(tile, start, piece);
    meet();
    TILEWIRE_UNROLL
    for (int i = 0; i < K::kRegisters; ++i) {
      // A choice, no branch: element 0 is always there to be read.
      const int index = source(i, K::element(threadIdx.x, i)) - start;
      const bool is_here =
          kIsAllHere || (index >= 0 && index < smaller(kPiece, L::kElements - start));
      const bool is_read = is_here && K::holds(threadIdx.x, i);
      const T found = piece[is_read ? padded<kRow, T>(index) : 0];
      result.set(i, is_here ? found : result.get(i));
    }
  }
}

/// `kRow`: padding, for steps that go down the columns of rows of that length.
template <typename ResultTile, typename W, int kRow = 0, typename TileType>
TILEWIRE_DEVICE ResultTile walk(const TileType& tile, void* shared) {
  ResultTile result;
  take<Taken::kAll, false, kRow>(result, tile, shared,
                                 [](int, int element) { return W::source(element); });
  return result;
}

/// The part of a tile that registers from `kFirst` on hold, on every thread: whole rounds over the
/// threads come before it.
template <typename ResultTile, int kFirst, typename TileType>
TILEWIRE_DEVICE ResultTile registers_from(const TileType& tile) {
  ResultTile result;
  TILEWIRE_UNROLL
  for (int i = 0; i < ResultTile::Layout::kRegisters; ++i) {
    result.set(i, element(tile, kFirst + i));
  }
  return result;
}

/// `b` behind `a` in every thread's registers: `a` is a whole number of rounds over the threads.
template <typename ResultTile, typename TileA, typename TileB>
TILEWIRE_DEVICE ResultTile append(const TileA& a, const TileB& b) {
  constexpr int kOfA = Operand<TileA>::Layout::kRegisters;
  static_assert(Operand<TileA>::Layout::kIsFull);
  ResultTile result;
  TILEWIRE_UNROLL
  for (int i = 0; i < ResultTile::Layout::kRegisters; ++i) {
    result.set(i, i < kOfA ? element(a, i) : element(b, i - kOfA));
  }
  return result;
}

/// `a` of shape `A`, behind it along axis `kAxis` `b` of shape `B`.
template <typename ResultTile, int kAxis, typename A, typename B, typename TileA, typename TileB>
TILEWIRE_DEVICE ResultTile cat(const TileA& a, const TileB& b, void* shared) {
  constexpr int kInner = inner_size<A>(kAxis);
  constexpr int kOfA = A::size(kAxis) * kInner;
  constexpr int kOfB = B::size(kAxis) * kInner;
  ResultTile result;
  take<Taken::kSome, false, 0>(result, a, shared, [](int, int element) {
    const int within = element % (kOfA + kOfB);
    return within < kOfA ? element / (kOfA + kOfB) * kOfA + within : -1;
  });
  take<Taken::kSome, true, 0>(result, b, shared, [](int, int element) {
    const int within = element % (kOfA + kOfB) - kOfA;
    return within >= 0 ? element / (kOfA + kOfB) * kOfB + within : -1;
  });
  return result;
}

template <typename A, typename B>
inline constexpr bool kIsSame = false;
template <typename A>
inline constexpr bool kIsSame<A, A> = true;

/// Along axis `kAxis` of a tile of shape `Source`, the element that the index tile names; 0 where
/// it names none. The index tile has the result's shape: `Source` but for the axis, where it has
/// `kCount`.
template <typename ResultTile, int kAxis, int kCount, typename Source, typename TileType,
          typename IndexTile>
TILEWIRE_DEVICE ResultTile gather_within(const TileType& tile, const IndexTile& indices,
                                         void* shared) {
  using K = typename ResultTile::Layout;
  using Index = typename Operand<IndexTile>::Element;
  constexpr bool kIsAligned = kIsSame<typename Operand<IndexTile>::Layout, K>;
  constexpr int kInner = inner_size<Source>(kAxis);
  constexpr int kSize = Source::size(kAxis);
  Tile<Index, K> own;
  if constexpr (kIsAligned) {
    own = indices;
  } else {
    own = relayout<Tile<Index, K>>(indices, shared);
  }
  ResultTile result;
  result.fill(typename ResultTile::Element{});
  take<Taken::kSome, !kIsAligned, 0>(result, tile, shared, [&](int slot, int element) {
    // Negative numbers are large as unsigned ones.
    const uint64_t at = static_cast<uint64_t>(static_cast<int64_t>(own.get(slot)));
    const int outer = element / (kCount * kInner);
    return at < kSize ? (outer * kSize + static_cast<int>(at)) * kInner + element % kInner : -1;
  });
  return result;
}

}  // namespace tilewire::device

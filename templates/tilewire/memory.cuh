// Tile loads and stores. Ordinary loads and stores unless the program says otherwise: a peer may
// write what is read here, so nothing goes through the read-only path by itself.
#pragma once

#include "tilewire/cache.cuh"
#include "tilewire/operators.cuh"

namespace tilewire::device {

template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using type = uint8_t;
};
template <>
struct Word<2> {
  using type = uint16_t;
};
template <>
struct Word<4> {
  using type = uint32_t;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

/// A word in memory or registers, which is aligned to its size.
template <typename W>
TILEWIRE_DEVICE W* word_at(void* address) {
#if defined(__CUDACC__)
  // Said here, since it gets lost where a copy is taken apart and put together again.
  address = __builtin_assume_aligned(address, sizeof(W));
#endif
  return static_cast<W*>(address);
}

/// One element.
template <Cache kCache, typename T>
TILEWIRE_DEVICE T fetch_element(T* from) {
  if constexpr (kCache == Cache::kDefault) return *from;
  using W = typename Word<sizeof(T)>::type;
  alignas(W) T value;
  reinterpret_cast<W&>(value) = fetch<kCache>(reinterpret_cast<W*>(from));
  return value;
}
template <Cache kCache, typename T>
TILEWIRE_DEVICE void put_element(T* to, T element) {
  if constexpr (kCache == Cache::kDefault) {
    *to = element;
  } else {
    using W = typename Word<sizeof(T)>::type;
    alignas(W) T value = element;
    put<kCache>(reinterpret_cast<W*>(to), reinterpret_cast<W&>(value));
  }
}

/// The registers from `slot` on as a word. Where they are 32-bit registers already, it is made of
/// their values: taking the address of a tile's registers may put them into local memory.
template <typename W, typename T, typename L>
TILEWIRE_DEVICE W word_of(Tile<T, L>& tile, int slot) {
  constexpr int kStep = 4 / sizeof(T);  // elements in a register
  if constexpr (!kIsPaired<T, L> && sizeof(T) != 4) {
    return *word_at<W>(tile.address(slot));
  } else if constexpr (sizeof(W) == 16) {
    return {tile.bits(slot), tile.bits(slot + kStep), tile.bits(slot + 2 * kStep),
            tile.bits(slot + 3 * kStep)};
  } else if constexpr (sizeof(W) == 8) {
    return {tile.bits(slot), tile.bits(slot + kStep)};
  } else {
    return tile.bits(slot);
  }
}

/// Reads `kCount` elements, aligned together, into the registers from `slot` on in one instruction.
template <int kCount, Cache kCache = Cache::kDefault, typename T, typename L>
TILEWIRE_DEVICE void read(Tile<T, L>& tile, int slot, T* from) {
  if constexpr (kCount == 1) {
    tile.set(slot, fetch_element<kCache>(from));
  } else {
    using W = typename Word<kCount * sizeof(T)>::type;
    *static_cast<W*>(tile.address(slot)) = fetch<kCache>(word_at<W>(from));
  }
}
template <int kCount, Cache kCache = Cache::kDefault, typename T, typename L>
TILEWIRE_DEVICE void write(Tile<T, L>& tile, int slot, T* to) {
  if constexpr (kCount == 1) {
    put_element<kCache>(to, tile.get(slot));
  } else {
    using W = typename Word<kCount * sizeof(T)>::type;
    put<kCache>(word_at<W>(to), word_of<W>(tile, slot));
  }
}

/// One dimension of an access: its extent, and the elements between neighbours.
template <int kSize_>
struct Dim {
  static constexpr int kSize = kSize_;
  static constexpr bool kIsMasked = false;
  int64_t stride;
  static constexpr int64_t begin = 0;
  static constexpr int64_t bound = 0;
};
/// One where element j exists only if 0 <= begin + j < bound.
template <int kSize_>
struct MaskedDim {
  static constexpr int kSize = kSize_;
  static constexpr bool kIsMasked = true;
  int64_t stride;
  int64_t begin;
  int64_t bound;
};
template <int kSize>
TILEWIRE_DEVICE Dim<kSize> dim(int64_t stride) {
  return {stride};
}
template <int kSize>
TILEWIRE_DEVICE MaskedDim<kSize> masked_dim(int64_t stride, int64_t begin, int64_t bound) {
  return {stride, begin, bound};
}

/// Where a run of neighbouring elements lies: the offset of the first, and which exist.
struct Run {
  int64_t offset;
  int64_t first;
  int64_t last;
};

/// Elements [first, last) of a dimension.
struct Span {
  int first;
  int last;
  TILEWIRE_DEVICE int size() const { return last > first ? last - first : 0; }
  TILEWIRE_DEVICE bool has(int index) const { return index >= first && index < last; }
};

/// Rows [first, last) of a matrix, unless some or all of them may exist in part only.
struct WholeRows {
  int first;
  int last;
  bool is_cut;
};

/// Where a tile lies in memory.
template <typename T, typename... Dims>
struct Access {
  using Element = T;
  static constexpr int kRank = sizeof...(Dims);
  static constexpr int kElements = (1 * ... * Dims::kSize);
  /// Of the last dimension.
  static TILEWIRE_CONSTEXPR int num_columns() {
    const int sizes[] = {Dims::kSize...};
    return sizes[kRank - 1];
  }
  /// A mask may cut through vectors, which lie along the last dimension.
  static TILEWIRE_CONSTEXPR bool cuts_vectors() {
    const bool are_masked[] = {Dims::kIsMasked...};
    return are_masked[kRank - 1];
  }

  T* pointer;
  bool exists;  ///< false: the whole access is outside
  int64_t strides[kRank];
  int64_t begins[kRank];
  int64_t bounds[kRank];

  /// Where element (row, column) of a matrix lies.
  TILEWIRE_DEVICE int64_t offset(int row, int column) const {
    return row * strides[0] + column * strides[kRank - 1];
  }
  /// Whether all elements exist.
  TILEWIRE_DEVICE bool has_all() const {
    const int sizes[] = {Dims::kSize...};
    const bool are_masked[] = {Dims::kIsMasked...};
    bool all = exists;
    TILEWIRE_UNROLL
    for (int i = 0; i < kRank; ++i) {
      all = all && (!are_masked[i] || (begins[i] >= 0 && begins[i] + sizes[i] <= bounds[i]));
    }
    return all;
  }
  /// Which elements of a dimension exist, in those of the others that do.
  template <int kDimension>
  TILEWIRE_DEVICE Span existing() const {
    constexpr int kSizes[] = {Dims::kSize...};
    constexpr bool kAreMasked[] = {Dims::kIsMasked...};
    constexpr int kSize = kSizes[kDimension];
    Span span = {0, exists ? kSize : 0};
    if (kAreMasked[kDimension]) {
      const int64_t begin = begins[kDimension];
      const int64_t left = bounds[kDimension] - begin;
      if (begin < 0) span.first = begin > -kSize ? static_cast<int>(-begin) : kSize;
      if (left < span.last) span.last = left > 0 ? static_cast<int>(left) : 0;
    }
    return span;
  }
  /// Which rows of a matrix exist.
  TILEWIRE_DEVICE WholeRows whole_rows() const {
    constexpr int kLast = kRank - 1;
    const int sizes[] = {Dims::kSize...};
    const bool are_masked[] = {Dims::kIsMasked...};
    if (kRank != 2 || (are_masked[kLast] &&
                       (begins[kLast] < 0 || begins[kLast] + sizes[kLast] > bounds[kLast]))) {
      return {0, 0, true};
    }
    const Span rows = existing<0>();
    return {rows.first, rows.last, false};
  }

  /// The run of `count` elements along the last dimension that starts at a row-major index; empty
  /// where `is_held` is false.
  TILEWIRE_DEVICE Run run(unsigned index, int count, bool is_held) const {
    const unsigned sizes[] = {Dims::kSize...};
    const bool are_masked[] = {Dims::kIsMasked...};
    Run run = {0, 0, exists && is_held ? count : 0};
    TILEWIRE_UNROLL
    for (int i = kRank - 1; i >= 0; --i) {
      const int coordinate = static_cast<int>(i == 0 ? index : index % sizes[i]);
      index /= sizes[i];
      run.offset += coordinate * strides[i];
      if (!are_masked[i]) continue;
      const int64_t position = begins[i] + coordinate;
      if (i == kRank - 1) {
        if (-position > run.first) run.first = -position;
        if (bounds[i] - position < run.last) run.last = bounds[i] - position;
      } else if (position < 0 || position >= bounds[i]) {
        run.last = 0;
      }
    }
    return run;
  }
};

/// A tile at `pointer`, described from its outermost dimension to its innermost.
template <typename T, typename... Dims>
TILEWIRE_DEVICE Access<T, Dims...> access(T* pointer, const Dims&... dims) {
  __builtin_assume(__isGlobal(pointer));
  return {pointer, true, {dims.stride...}, {dims.begin...}, {dims.bound...}};
}
/// The same where the whole of it may be outside.
template <typename T, typename... Dims>
TILEWIRE_DEVICE Access<T, Dims...> access_if(bool exists, T* pointer, const Dims&... dims) {
  __builtin_assume(__isGlobal(pointer));
  return {pointer, exists, {dims.stride...}, {dims.begin...}, {dims.bound...}};
}

/// The run of the vector that starts in register `slot` of this thread.
template <typename L, int kVector, typename A>
TILEWIRE_DEVICE Run run_of(const A& access, int slot) {
  return access.run(L::element(threadIdx.x, slot), kVector, L::holds(threadIdx.x, slot));
}

template <int kVector, typename Where>
TILEWIRE_DEVICE bool is_whole(const Run& run, const Where& where, int slot) {
  bool all = run.first <= 0 && run.last >= kVector;
  TILEWIRE_UNROLL
  for (int j = 0; j < kVector; ++j) all = all && element(where, slot + j);
  return all;
}

/// Reads a tile, `kVector` elements at a time; what is outside, or where `where` is false, becomes
/// `other`. The elements of a vector are contiguous and aligned together.
template <typename TileType, int kVector, Cache kCache = Cache::kDefault, typename A,
          typename Other, typename Where>
TILEWIRE_DEVICE TileType load(const A& access, const Other& other, const Where& where) {
  using L = typename TileType::Layout;
  static_assert(A::kElements == L::kElements && L::kVector % kVector == 0);
  TileType tile;
  // Whole vectors first, so that all of them are in flight together.
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    const Run run = run_of<L, kVector>(access, i);
    TILEWIRE_UNROLL
    for (int j = 0; j < kVector; ++j) tile.set(i + j, element(other, i + j));
    if (is_whole<kVector>(run, where, i))
      read<kVector, kCache>(tile, i, access.pointer + run.offset);
  }
  if constexpr (kVector > 1 && (A::cuts_vectors() || Operand<Where>::kIsTile)) {
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; i += kVector) {
      const Run run = run_of<L, kVector>(access, i);
      if (is_whole<kVector>(run, where, i)) continue;
      TILEWIRE_UNROLL
      for (int j = 0; j < kVector; ++j) {
        if (j >= run.first && j < run.last && element(where, i + j)) {
          tile.set(i + j, fetch_element<kCache>(access.pointer + run.offset + j));
        }
      }
    }
  }
  return tile;
}
template <typename TileType, int kVector, Cache kCache = Cache::kDefault, typename A,
          typename Other>
TILEWIRE_DEVICE TileType load(const A& access, const Other& other) {
  return load<TileType, kVector, kCache>(access, other, true);
}
template <typename TileType, int kVector, Cache kCache = Cache::kDefault, typename... A>
TILEWIRE_DEVICE TileType load(const Access<A...>& access) {
  return load<TileType, kVector, kCache>(access, typename TileType::Element{}, true);
}
/// A tile that lies in one piece.
template <typename TileType, int kVector, Cache kCache = Cache::kDefault, typename T>
TILEWIRE_DEVICE TileType load(T* pointer) {
  using L = typename TileType::Layout;
  __builtin_assume(__isGlobal(pointer));
  TileType tile;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    if (L::holds(threadIdx.x, i)) {
      read<kVector, kCache>(tile, i, pointer + L::element(threadIdx.x, i));
    }
  }
  return tile;
}

/// Writes a tile, `kVector` elements at a time; what is outside, or where `where` is false, is
/// dropped.
template <int kVector, Cache kCache = Cache::kDefault, typename A, typename TileType,
          typename Where>
TILEWIRE_DEVICE void store(const A& access, const TileType& source, const Where& where) {
  using L = typename Operand<TileType>::Layout;
  static_assert(A::kElements == L::kElements && L::kVector % kVector == 0);
  Tile<typename Operand<TileType>::Element, L> tile = source;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    const Run run = run_of<L, kVector>(access, i);
    if (!L::owns(threadIdx.x, i)) continue;
    if (is_whole<kVector>(run, where, i)) {
      write<kVector, kCache>(tile, i, access.pointer + run.offset);
      continue;
    }
    if constexpr (kVector > 1 && (A::cuts_vectors() || Operand<Where>::kIsTile)) {
      TILEWIRE_UNROLL
      for (int j = 0; j < kVector; ++j) {
        if (j >= run.first && j < run.last && element(where, i + j)) {
          put_element<kCache>(access.pointer + run.offset + j, tile.get(i + j));
        }
      }
    }
  }
}
template <int kVector, Cache kCache = Cache::kDefault, typename... A, typename TileType>
TILEWIRE_DEVICE void store(const Access<A...>& access, const TileType& source) {
  store<kVector, kCache>(access, source, true);
}
/// A tile that lies in one piece.
template <int kVector, Cache kCache = Cache::kDefault, typename T, typename TileType>
TILEWIRE_DEVICE void store(T* pointer, const TileType& source) {
  using L = typename Operand<TileType>::Layout;
  __builtin_assume(__isGlobal(pointer));
  Tile<T, L> tile = source;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    if (L::owns(threadIdx.x, i)) {
      write<kVector, kCache>(tile, i, pointer + L::element(threadIdx.x, i));
    }
  }
}

}  // namespace tilewire::device

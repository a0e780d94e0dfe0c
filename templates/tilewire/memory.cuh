// Tile loads and stores. Ordinary loads and stores throughout: a peer may write what is read here,
// so nothing goes through the read-only path.
#pragma once

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

/// Copies `kBytes` bytes, aligned to that, in one instruction.
template <int kBytes>
TILEWIRE_DEVICE void copy(void* to, void* from) {
  using W = typename Word<kBytes>::type;
#if defined(__CUDACC__)
  // Said here, since it gets lost where the copy is taken apart and put together again.
  to = __builtin_assume_aligned(to, kBytes);
  from = __builtin_assume_aligned(from, kBytes);
#endif
  *static_cast<W*>(to) = *static_cast<W*>(from);
}

/// Reads `kCount` elements into the registers from `slot` on.
template <int kCount, typename T, typename L>
TILEWIRE_DEVICE void read(Tile<T, L>& tile, int slot, T* from) {
  if constexpr (kCount == 1) {
    tile.set(slot, *from);
  } else {
    copy<kCount * sizeof(T)>(tile.address(slot), from);
  }
}
template <int kCount, typename T, typename L>
TILEWIRE_DEVICE void write(Tile<T, L>& tile, int slot, T* to) {
  if constexpr (kCount == 1) {
    *to = tile.get(slot);
  } else {
    copy<kCount * sizeof(T)>(to, tile.address(slot));
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

/// Where a tile lies in memory.
template <typename T, typename... Dims>
struct Access {
  static constexpr int kRank = sizeof...(Dims);
  static constexpr int kElements = (1 * ... * Dims::kSize);
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
template <typename TileType, int kVector, typename A, typename Other, typename Where>
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
    if (is_whole<kVector>(run, where, i)) read<kVector>(tile, i, access.pointer + run.offset);
  }
  if constexpr (kVector > 1 && (A::cuts_vectors() || Operand<Where>::kIsTile)) {
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; i += kVector) {
      const Run run = run_of<L, kVector>(access, i);
      if (is_whole<kVector>(run, where, i)) continue;
      TILEWIRE_UNROLL
      for (int j = 0; j < kVector; ++j) {
        if (j >= run.first && j < run.last && element(where, i + j)) {
          tile.set(i + j, access.pointer[run.offset + j]);
        }
      }
    }
  }
  return tile;
}
template <typename TileType, int kVector, typename A, typename Other>
TILEWIRE_DEVICE TileType load(const A& access, const Other& other) {
  return load<TileType, kVector>(access, other, true);
}
template <typename TileType, int kVector, typename... A>
TILEWIRE_DEVICE TileType load(const Access<A...>& access) {
  return load<TileType, kVector>(access, typename TileType::Element{}, true);
}
/// A tile that lies in one piece.
template <typename TileType, int kVector, typename T>
TILEWIRE_DEVICE TileType load(T* pointer) {
  using L = typename TileType::Layout;
  __builtin_assume(__isGlobal(pointer));
  TileType tile;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    if (L::holds(threadIdx.x, i)) {
      read<kVector>(tile, i, pointer + L::element(threadIdx.x, i));
    }
  }
  return tile;
}

/// Writes a tile, `kVector` elements at a time; what is outside, or where `where` is false, is
/// dropped.
template <int kVector, typename A, typename TileType, typename Where>
TILEWIRE_DEVICE void store(const A& access, const TileType& source, const Where& where) {
  using L = typename Operand<TileType>::Layout;
  static_assert(A::kElements == L::kElements && L::kVector % kVector == 0);
  Tile<typename Operand<TileType>::Element, L> tile = source;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    const Run run = run_of<L, kVector>(access, i);
    if (!L::owns(threadIdx.x, i)) continue;
    if (is_whole<kVector>(run, where, i)) {
      write<kVector>(tile, i, access.pointer + run.offset);
      continue;
    }
    if constexpr (kVector > 1 && (A::cuts_vectors() || Operand<Where>::kIsTile)) {
      TILEWIRE_UNROLL
      for (int j = 0; j < kVector; ++j) {
        if (j >= run.first && j < run.last && element(where, i + j)) {
          access.pointer[run.offset + j] = tile.get(i + j);
        }
      }
    }
  }
}
template <int kVector, typename... A, typename TileType>
TILEWIRE_DEVICE void store(const Access<A...>& access, const TileType& source) {
  store<kVector>(access, source, true);
}
/// A tile that lies in one piece.
template <int kVector, typename T, typename TileType>
TILEWIRE_DEVICE void store(T* pointer, const TileType& source) {
  using L = typename Operand<TileType>::Layout;
  __builtin_assume(__isGlobal(pointer));
  Tile<T, L> tile = source;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    if (L::owns(threadIdx.x, i)) {
      write<kVector>(tile, i, pointer + L::element(threadIdx.x, i));
    }
  }
}

}  // namespace tilewire::device

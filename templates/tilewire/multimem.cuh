// Accesses through a multicast address, which stands for the same place in every rank's copy of a
// window: reductions of all copies, and writes to all of them, done by the switch between the GPUs.
//
// No instruction accesses less than 4 bytes. Of narrower elements, one alone is reduced together
// with its neighbours in the same word, which are ignored; it is written to each copy by itself.
//
// The address is another one than any rank's own: the GPU takes the two for different memory, until
// `fence_aliases` stands between.
#pragma once

#include "tilewire/atomics.cuh"
#include "tilewire/multimem_instructions.cuh"

namespace tilewire::device {

/// Orders this thread's accesses through multicast addresses and through others, in both
/// directions.
TILEWIRE_DEVICE void fence_aliases() { asm volatile("fence.proxy.alias;" ::: "memory"); }

/// Where the copies of a window lie, for what is written to each by itself.
template <int kRanks_>
struct Copies {
  static constexpr int kRanks = kRanks_;
  char* multicast;  ///< the window's multicast address
  char* first;      ///< LSA rank 0's copy
  int64_t stride;   ///< bytes from one rank's copy to the next one's

  TILEWIRE_DEVICE Copies(void* multicast, void* first, void* second)
      : multicast(static_cast<char*>(multicast)),
        first(static_cast<char*>(first)),
        stride(static_cast<char*>(second) - static_cast<char*>(first)) {}
  /// What lies at `place`, a multicast address, in a rank's copy.
  template <typename T>
  TILEWIRE_DEVICE T* at(int rank, T* place) const {
    return reinterpret_cast<T*>(first + rank * stride +
                                (reinterpret_cast<char*>(place) - multicast));
  }
};
/// Where nothing is written to copies by themselves.
struct NoCopies {
  static constexpr int kRanks = 0;
  template <typename T>
  TILEWIRE_DEVICE T* at(int, T* place) const {
    return place;
  }
};

/// Whether `kCount` elements fill words of a multimem instruction.
template <typename T, int kCount>
inline constexpr bool kIsMultimemVector = sizeof(T) * kCount >= 4;

/// One element, reduced over all copies.
template <typename Operation, typename T>
TILEWIRE_DEVICE T multimem_load_one(T* place) {
  if constexpr (sizeof(T) >= 4) {
    return multimem_fetch_element(Operation(), place);
  } else {
    const auto address = reinterpret_cast<uintptr_t>(place);
    uint32_t word[1];
    multimem_fetch(Operation(), T(), reinterpret_cast<void*>(address & ~uintptr_t{3}), word);
    const uint32_t bits = word[0] >> (8 * static_cast<uint32_t>(address & 3));
    return {static_cast<decltype(T::bits)>(bits)};
  }
}

/// Reduces `kCount` elements, aligned together, into the registers from `slot` on.
template <int kCount, typename Operation, typename T, typename L>
TILEWIRE_DEVICE void multimem_read(Tile<T, L>& tile, int slot, T* from) {
  if constexpr (!kHasMultimemVectors<T> || !kIsMultimemVector<T, kCount>) {
    TILEWIRE_UNROLL
    for (int j = 0; j < kCount; ++j) tile.set(slot + j, multimem_load_one<Operation>(from + j));
  } else {
    constexpr int kWords = kCount * sizeof(T) / 4;
    MultimemWord<T> words[kWords];
    multimem_fetch(Operation(), T(), from, words);
    TILEWIRE_UNROLL
    for (int j = 0; j < kCount; ++j) tile.set(slot + j, element_of_words<T>(words, j));
  }
}

/// Reads a tile, reduced over all copies, `kVector` elements at a time; what is outside, or where
/// `where` is false, becomes `other`.
template <typename TileType, int kVector, typename Operation, typename A, typename Other,
          typename Where>
TILEWIRE_DEVICE TileType multimem_load(const A& access, const Other& other, const Where& where) {
  using L = typename TileType::Layout;
  static_assert(A::kElements == L::kElements && L::kVector % kVector == 0);
  TileType tile;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    const Run run = run_of<L, kVector>(access, i);
    TILEWIRE_UNROLL
    for (int j = 0; j < kVector; ++j) tile.set(i + j, element(other, i + j));
    if (is_whole<kVector>(run, where, i)) {
      multimem_read<kVector, Operation>(tile, i, access.pointer + run.offset);
    }
  }
  if constexpr (kVector > 1 && (A::cuts_vectors() || Operand<Where>::kIsTile)) {
    TILEWIRE_UNROLL
    for (int i = 0; i < L::kRegisters; i += kVector) {
      const Run run = run_of<L, kVector>(access, i);
      if (is_whole<kVector>(run, where, i)) continue;
      TILEWIRE_UNROLL
      for (int j = 0; j < kVector; ++j) {
        if (j >= run.first && j < run.last && element(where, i + j)) {
          tile.set(i + j, multimem_load_one<Operation>(access.pointer + run.offset + j));
        }
      }
    }
  }
  return tile;
}

/// One element, to all copies.
template <typename T, typename C = NoCopies>
TILEWIRE_DEVICE void multimem_store_one(T* place, T value, const C& copies = {}) {
  if constexpr (sizeof(T) == 8) {
    multimem_put(place, same_bits<uint64_t>(value));
  } else if constexpr (sizeof(T) == 4) {
    const uint32_t word[1] = {same_bits<uint32_t>(value)};
    multimem_put(place, word);
  } else {
    TILEWIRE_ROLLED
    for (int rank = 0; rank < C::kRanks; ++rank) put_single(copies.at(rank, place), value);
  }
}

/// One element, reduced into all copies.
template <typename Operation, typename T, typename C = NoCopies>
TILEWIRE_DEVICE void multimem_reduce_one(T* place, T value, const C& copies = {}) {
  if constexpr (sizeof(T) >= 4) {
    multimem_update_element(Operation(), place, value);
  } else {
    TILEWIRE_ROLLED
    for (int rank = 0; rank < C::kRanks; ++rank) {
      update_one<typename Operation::Atomic, Scope::kSystem>(copies.at(rank, place), value);
    }
  }
}

/// Calls `whole(slot, place)` for vectors of which all elements exist, and `one(slot, place)` for
/// the elements of others; each by the thread that owns it.
template <typename TileType, int kVector, typename A, typename Where, typename Whole, typename One>
TILEWIRE_DEVICE void for_each_owned_vector(const A& access, const Where& where, const Whole& whole,
                                           const One& one) {
  using L = typename TileType::Layout;
  static_assert(A::kElements == L::kElements && L::kVector % kVector == 0);
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; i += kVector) {
    const Run run = run_of<L, kVector>(access, i);
    if (!L::owns(threadIdx.x, i)) continue;
    if (is_whole<kVector>(run, where, i)) {
      whole(i, access.pointer + run.offset);
      continue;
    }
    if constexpr (kVector > 1 && (A::cuts_vectors() || Operand<Where>::kIsTile)) {
      TILEWIRE_UNROLL
      for (int j = 0; j < kVector; ++j) {
        if (j >= run.first && j < run.last && element(where, i + j)) {
          one(i + j, access.pointer + run.offset + j);
        }
      }
    }
  }
}

/// Writes a tile to all copies, `kVector` elements at a time; what is outside, or where `where` is
/// false, is dropped.
template <typename TileType, int kVector, typename A, typename V, typename Where,
          typename C = NoCopies>
TILEWIRE_DEVICE void multimem_store(const A& access, const V& values, const Where& where,
                                    const C& copies = {}) {
  using T = typename TileType::Element;
  const auto one = [&](int slot, T* place) {
    multimem_store_one(place, T(element(values, slot)), copies);
  };
  for_each_owned_vector<TileType, kVector>(
      access, where,
      [&](int slot, T* place) {
        if constexpr (kIsMultimemVector<T, kVector>) {
          uint32_t words[kVector * sizeof(T) / 4];
          TILEWIRE_UNROLL
          for (int j = 0; j < kVector; ++j) {
            put_element_in_words(words, j, T(element(values, slot + j)));
          }
          multimem_put(place, words);
        } else {
          TILEWIRE_UNROLL
          for (int j = 0; j < kVector; ++j) one(slot + j, place + j);
        }
      },
      one);
}

/// Reduces a tile into all copies, in no order.
template <typename TileType, int kVector, typename Operation, typename A, typename V,
          typename Where, typename C = NoCopies>
TILEWIRE_DEVICE void multimem_reduce(const A& access, const V& values, const Where& where,
                                     const C& copies = {}) {
  using T = typename TileType::Element;
  const auto one = [&](int slot, T* place) {
    multimem_reduce_one<Operation>(place, T(element(values, slot)), copies);
  };
  for_each_owned_vector<TileType, kVector>(
      access, where,
      [&](int slot, T* place) {
        if constexpr (kHasMultimemVectors<T> && kIsMultimemVector<T, kVector>) {
          MultimemWord<T> words[kVector * sizeof(T) / 4];
          TILEWIRE_UNROLL
          for (int j = 0; j < kVector; ++j) {
            put_element_in_words(words, j, T(element(values, slot + j)));
          }
          multimem_update(Operation(), T(), place, words);
        } else {
          TILEWIRE_UNROLL
          for (int j = 0; j < kVector; ++j) one(slot + j, place + j);
        }
      },
      one);
}

}  // namespace tilewire::device

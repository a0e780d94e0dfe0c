// The registers of a thread as the words of a message (channel_layout.cuh), and the instructions
// that move them: 16 bytes at a time where a vector of the tile has as many.
#pragma once

#include "tilewire/channel_layout.cuh"
#include "tilewire/tile.cuh"

namespace tilewire::device {

/// The bits of an element as an unsigned integer, and back.
template <int kBytes>
struct Bits;
template <>
struct Bits<1> {
  using type = uint8_t;
};
template <>
struct Bits<2> {
  using type = uint16_t;
};
template <>
struct Bits<4> {
  using type = uint32_t;
};
template <>
struct Bits<8> {
  using type = uint64_t;
};
template <typename T>
TILEWIRE_DEVICE typename Bits<sizeof(T)>::type bits_of(T value) {
  typename Bits<sizeof(T)>::type bits;
  __builtin_memcpy(&bits, &value, sizeof(T));
  return bits;
}
template <typename T>
TILEWIRE_DEVICE T from_bits(typename Bits<sizeof(T)>::type bits) {
  T value;
  __builtin_memcpy(&value, &bits, sizeof(T));
  return value;
}
template <>
TILEWIRE_DEVICE bool from_bits<bool>(uint8_t bits) {
  return bits != 0;
}

/// What a thread has of one field of a message: vectors of registers, each some words that lie side
/// by side. A scalar is held by every thread and sent by one.
template <typename V, bool kIsPacked>
struct Piece {
  using Element = V;
  static constexpr int kElementBytes = sizeof(V);
  static constexpr int kElements = 1;
  static constexpr int kVectors = 1;
  static constexpr int kVectorWords = kElementBytes == 8 ? 2 : 1;

  static TILEWIRE_CONSTEXPR bool reads(int, int) { return true; }
  static TILEWIRE_CONSTEXPR bool sends(int thread, int) { return thread == 0; }
  /// The message's word where a vector begins.
  static TILEWIRE_CONSTEXPR int word(int, int) { return 0; }

  template <int kVector>
  static TILEWIRE_DEVICE void get(const V& value, uint32_t (&words)[kVectorWords]) {
    const auto bits = bits_of(value);
    words[0] = static_cast<uint32_t>(bits);
    if constexpr (kVectorWords == 2) words[1] = static_cast<uint32_t>(bits >> 32);
  }
  template <int kVector>
  static TILEWIRE_DEVICE void set(V& value, const uint32_t (&words)[kVectorWords]) {
    if constexpr (kVectorWords == 2) {
      value = from_bits<V>(uint64_t{words[1]} << 32 | words[0]);
    } else {
      value = from_bits<V>(static_cast<typename Bits<sizeof(V)>::type>(words[0]));
    }
  }
};

template <typename T, typename L, bool kIsPacked>
struct Piece<Tile<T, L>, kIsPacked> {
  using Element = T;
  static constexpr int kElementBytes = sizeof(T);
  static constexpr int kElements = L::kElements;
  static constexpr int kVectors = L::kRegisters / L::kVector;
  /// Elements in a word, or words of an element.
  static constexpr int kPerWord = kIsPacked && kElementBytes < 4 ? 4 / kElementBytes : 1;
  static constexpr int kWordsEach = kElementBytes == 8 ? 2 : 1;
  static constexpr int kVectorWords = L::kVector / kPerWord * kWordsEach;
  static_assert(L::kVector % kPerWord == 0 && !L::kIsReplicated);

  static TILEWIRE_CONSTEXPR bool reads(int thread, int vector) {
    return L::holds(thread, vector * L::kVector);
  }
  static TILEWIRE_CONSTEXPR bool sends(int thread, int vector) { return reads(thread, vector); }
  static TILEWIRE_CONSTEXPR int word(int thread, int vector) {
    return L::element(thread, vector * L::kVector) / kPerWord * kWordsEach;
  }

  template <int kVector>
  static TILEWIRE_DEVICE void get(const Tile<T, L>& tile, uint32_t (&words)[kVectorWords]) {
    constexpr int kSlot = kVector * L::kVector;
    TILEWIRE_UNROLL
    for (int j = 0; j < kVectorWords; ++j) {
      if constexpr (kElementBytes == 8) {
        words[j] = static_cast<uint32_t>(bits_of(tile.get(kSlot + j / 2)) >> (j % 2 * 32));
      } else if constexpr (kIsPaired<T, L> && kPerWord == 2) {
        words[j] = tile.bits(kSlot + 2 * j);
      } else {
        words[j] = 0;
        TILEWIRE_UNROLL
        for (int k = 0; k < kPerWord; ++k) {
          words[j] |= uint32_t{bits_of(tile.get(kSlot + j * kPerWord + k))}
                      << (k * 8 * kElementBytes);
        }
      }
    }
  }
  template <int kVector>
  static TILEWIRE_DEVICE void set(Tile<T, L>& tile, const uint32_t (&words)[kVectorWords]) {
    constexpr int kSlot = kVector * L::kVector;
    TILEWIRE_UNROLL
    for (int j = 0; j < kVectorWords; ++j) {
      if constexpr (kElementBytes == 8) {
        if (j % 2 == 0) continue;
        tile.set(kSlot + j / 2, from_bits<T>(uint64_t{words[j]} << 32 | words[j - 1]));
      } else if constexpr (kIsPaired<T, L> && kPerWord == 2) {
        tile.set_bits(kSlot + 2 * j, words[j]);
      } else {
        TILEWIRE_UNROLL
        for (int k = 0; k < kPerWord; ++k) {
          const uint32_t bits = words[j] >> (k * 8 * kElementBytes);
          tile.set(kSlot + j * kPerWord + k,
                   from_bits<T>(static_cast<typename Bits<sizeof(T)>::type>(bits)));
        }
      }
    }
  }
};

/// Words of data that one instruction moves, and how many bytes those take.
template <typename P, Carrying kCarrying>
struct Chunk {
  static constexpr bool kHasTags = kCarrying != Carrying::kReserved;
  static constexpr int kWords = smaller(P::kVectorWords, kHasTags ? 2 : 4);
  static constexpr int kPerVector = P::kVectorWords / kWords;
  static constexpr int kCount = P::kVectors * kPerVector;  ///< of each thread
  static constexpr int kWordStride = kWordBytes * (kHasTags ? 2 : 1);
  static constexpr int kBytes = kWords * kWordStride;
  /// Floats of 64 bits are one whole to those who read them.
  static constexpr bool kIsWide = !kHasTags && P::kElementBytes == 8;

  /// Bytes from the field's start.
  static TILEWIRE_CONSTEXPR int offset(int thread, int chunk) {
    return (P::word(thread, chunk / kPerVector) + chunk % kPerVector * kWords) * kWordStride;
  }
  static TILEWIRE_CONSTEXPR bool reads(int thread, int chunk) {
    return P::reads(thread, chunk / kPerVector);
  }
  static TILEWIRE_CONSTEXPR bool sends(int thread, int chunk) {
    return P::sends(thread, chunk / kPerVector);
  }
};

/// A thread's words of one field, as they travel.
template <typename P, Carrying kCarrying>
struct Words {
  using C = Chunk<P, kCarrying>;
  uint32_t of[C::kCount][C::kWords];
};

template <typename P, Carrying kCarrying, int kVector = 0, typename V>
TILEWIRE_DEVICE void to_words(const V& value, Words<P, kCarrying>& words) {
  if constexpr (kVector < P::kVectors) {
    using C = Chunk<P, kCarrying>;
    uint32_t vector[P::kVectorWords];
    P::template get<kVector>(value, vector);
    TILEWIRE_UNROLL
    for (int j = 0; j < P::kVectorWords; ++j) {
      uint32_t word = vector[j];
      if constexpr (C::kIsWide) {
        const uint64_t bits = uint64_t{vector[j | 1]} << 32 | vector[j & ~1];
        word = static_cast<uint32_t>(to_wire(bits) >> (j % 2 * 32));
      } else if constexpr (!C::kHasTags) {
        word = to_wire(word, P::kElementBytes);
      }
      words.of[kVector * C::kPerVector + j / C::kWords][j % C::kWords] = word;
    }
    to_words<P, kCarrying, kVector + 1>(value, words);
  }
}

template <typename P, Carrying kCarrying, int kVector = 0, typename V>
TILEWIRE_DEVICE void from_words(const Words<P, kCarrying>& words, V& value) {
  if constexpr (kVector < P::kVectors) {
    using C = Chunk<P, kCarrying>;
    uint32_t vector[P::kVectorWords];
    TILEWIRE_UNROLL
    for (int j = 0; j < P::kVectorWords; ++j) {
      const uint32_t word = words.of[kVector * C::kPerVector + j / C::kWords][j % C::kWords];
      constexpr uint32_t kTop = uint32_t{1} << 31;
      vector[j] = C::kHasTags  ? word
                  : C::kIsWide ? word ^ (j % 2 == 1 ? kTop : 0)
                               : from_wire(word, P::kElementBytes);
    }
    P::template set<kVector>(value, vector);
    from_words<P, kCarrying, kVector + 1>(words, value);
  }
}

}  // namespace tilewire::device

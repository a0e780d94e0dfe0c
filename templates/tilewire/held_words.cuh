// A tile of 16-bit floats as the tensor cores take their left operand from registers: `Fragment`
// spreads it as `mma` and `wgmma` want it, two neighbours to a word.
#pragma once

#include "tilewire/fragment_layout.cuh"
#include "tilewire/operators.cuh"

namespace tilewire::device {

inline constexpr int kHeldDepth = 16;  ///< columns that one instruction takes

/// What a thread has of a tile, in fours of words: the blocks of 64 rows of the first columns, then
/// those of the next.
template <typename L>
inline constexpr int kHeldWords = L::kColumns / kHeldDepth * L::kBlocks;

/// Takes them, with the bits of `more` in each.
template <typename T, typename L, int kCount>
TILEWIRE_DEVICE void take_words(uint32_t (&words)[kCount][4], const Tile<T, L>& tile,
                                uint32_t more) {
  static_assert(sizeof(T) == 2 && kCount == kHeldWords<L> && L::kColumns % kHeldDepth == 0);
  TILEWIRE_UNROLL
  for (int i = 0; i < kCount; ++i) {
    TILEWIRE_UNROLL
    for (int word = 0; word < 4; ++word) {
      const int slot = i % L::kBlocks * L::kBlockSlots + i / L::kBlocks * kHeldDepth / 2 + 2 * word;
      words[i][word] = tile.bits(slot) | more;
    }
  }
}

}  // namespace tilewire::device

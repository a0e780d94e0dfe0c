// Philox4x32-10, on scalars and tiles (J. Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", 2011). The compiler's is compiler/ops/philox.h.
#pragma once

#include "tilewire/operators.cuh"

namespace tilewire::device {

template <int kWord>
struct Philox {
  static TILEWIRE_DEVICE uint32_t of(uint64_t seed, uint64_t counter, uint64_t stream) {
    uint32_t block[4] = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream),
                         uint32_t(stream >> 32)};
    uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
    TILEWIRE_UNROLL
    for (int round = 0; round < 10; ++round) {
      const uint64_t first = uint64_t{0xD2511F53} * block[0];
      const uint64_t second = uint64_t{0xCD9E8D57} * block[2];
      block[0] = uint32_t(second >> 32) ^ block[1] ^ key[0];
      block[1] = uint32_t(second);
      block[2] = uint32_t(first >> 32) ^ block[3] ^ key[1];
      block[3] = uint32_t(first);
      key[0] += 0x9E3779B9;
      key[1] += 0xBB67AE85;
    }
    return block[kWord];
  }
};

/// A word of the block that seed, counter and stream name. The words of a tile are computed once
/// where all four are asked for: the compiler sees equal arithmetic.
template <int kWord, typename A, typename B, typename C>
TILEWIRE_DEVICE auto philox(const A& seed, const B& counter, const C& stream) {
  return apply_to<Philox<kWord>, uint32_t>(seed, counter, stream);
}

}  // namespace tilewire::device

#pragma once

#include <array>
#include <cstdint>

namespace tilewire {

// Philox4x32-10, a counter-based random number generator: J. Salmon et al., "Parallel random
// numbers: as easy as 1, 2, 3", 2011. The device's is `templates/tilewire/random.cuh`.

inline constexpr int kPhiloxRounds = 10;
inline constexpr std::array<std::uint32_t, 2> kPhiloxFactors = {0xD2511F53, 0xCD9E8D57};
/// What the key grows by in each round: the fractions of the golden ratio and of the root of 3.
inline constexpr std::array<std::uint32_t, 2> kPhiloxSteps = {0x9E3779B9, 0xBB67AE85};

/// The block of four words that a key and a 128-bit counter (`stream` above `counter`) name.
constexpr std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t counter,
                                              std::uint64_t stream) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  std::array<std::uint32_t, 4> block = {low(counter), high(counter), low(stream), high(stream)};
  std::array<std::uint32_t, 2> key = {low(seed), high(seed)};
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const std::uint64_t first = std::uint64_t{kPhiloxFactors[0]} * block[0];
    const std::uint64_t second = std::uint64_t{kPhiloxFactors[1]} * block[2];
    block = {high(second) ^ block[1] ^ key[0], low(second), high(first) ^ block[3] ^ key[1],
             low(first)};
    key = {key[0] + kPhiloxSteps[0], key[1] + kPhiloxSteps[1]};
  }
  return block;
}

}  // namespace tilewire

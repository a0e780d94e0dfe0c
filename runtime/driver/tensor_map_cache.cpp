#include "runtime/driver/tensor_map_cache.h"

#include <bit>

namespace tilewire {

std::size_t TensorMapCache::line_of(std::span<const std::uint64_t> words) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // 2^64 divided by the golden ratio
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words) hash = (hash ^ word) * kSpread;
  return hash >> (64 - std::countr_zero(kNumLines));
}

bool TensorMapCache::find(std::span<const std::uint64_t> words, device::TensorMap& map) const {
  const Line& line = lines_[line_of(words)];
  const std::uint32_t version = line.version.load(std::memory_order_acquire);
  if (version == 0 || version % 2 != 0) return false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (line.words[i].load(std::memory_order_acquire) != words[i]) return false;
  }
  std::array<std::uint64_t, kMapWords> copy;
  // Acquire: the version is read again behind them.
  for (std::size_t i = 0; i < kMapWords; ++i) copy[i] = line.map[i].load(std::memory_order_acquire);
  if (line.version.load(std::memory_order_relaxed) != version) return false;
  map = std::bit_cast<device::TensorMap>(copy);
  return true;
}

void TensorMapCache::add(std::span<const std::uint64_t> words, const device::TensorMap& map) {
  Line& line = lines_[line_of(words)];
  std::uint32_t version = line.version.load(std::memory_order_relaxed);
  if (version % 2 != 0) return;
  if (!line.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
    return;
  }
  const auto copy = std::bit_cast<std::array<std::uint64_t, kMapWords>>(map);
  // Release: who sees one of them sees the odd version as well.
  for (std::size_t i = 0; i < words.size(); ++i) {
    line.words[i].store(words[i], std::memory_order_release);
  }
  for (std::size_t i = 0; i < kMapWords; ++i) {
    line.map[i].store(copy[i], std::memory_order_release);
  }
  line.version.store(version + 2, std::memory_order_release);
}

}  // namespace tilewire

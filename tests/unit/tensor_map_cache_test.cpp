#include "runtime/driver/tensor_map_cache.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "tests/catch.h"

namespace tilewire {
namespace {

using Words = std::vector<std::uint64_t>;

/// A map that tells of which words it is.
device::TensorMap map_of(const Words& words) {
  device::TensorMap map;
  for (std::size_t i = 0; i < sizeof(map.bytes); ++i) {
    map.bytes[i] = static_cast<char>(words[i % words.size()] >> (i % 8) * 8);
  }
  return map;
}

bool is_map_of(const device::TensorMap& map, const Words& words) {
  return std::memcmp(&map, map_of(words).bytes, sizeof(map)) == 0;
}

bool finds(const TensorMapCache& cache, const Words& words) {
  device::TensorMap found{};
  return cache.find(words, found) && is_map_of(found, words);
}

}  // namespace

TEST_CASE("a tensor map is found by all of its words") {
  TensorMapCache cache;
  const Words words = {0x7f0000000000, 8192, 64};
  CHECK_FALSE(finds(cache, words));
  CHECK_FALSE(finds(cache, {0, 0, 0}));
  cache.add(words, map_of(words));
  CHECK(finds(cache, words));
  for (std::size_t i = 0; i < words.size(); ++i) {
    Words other = words;
    other[i] += 1;
    device::TensorMap found;
    CHECK_FALSE(cache.find(other, found));
  }
}

TEST_CASE("a cache of tensor maps keeps some of the last ones") {
  TensorMapCache cache;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Words words = {0x7f0000000000 + 512 * i, i};
    cache.add(words, map_of(words));
    CHECK(finds(cache, words));
  }
  int num_kept = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    num_kept += finds(cache, {0x7f0000000000 + 512 * i, i}) ? 1 : 0;
  }
  CHECK(num_kept > 8);
  CHECK(num_kept <= 16);
}

TEST_CASE("threads that share a cache of tensor maps get whole maps, each its own") {
  TensorMapCache cache;
  std::atomic<int> num_wrong = 0;
  std::atomic<int> num_found = 0;
  const auto work = [&](std::uint64_t seed) {
    for (int i = 0; i < 20000; ++i) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      const Words words = {seed >> 59, 3};
      device::TensorMap found;
      if (cache.find(words, found)) {
        ++num_found;
        num_wrong += is_map_of(found, words) ? 0 : 1;
      } else {
        cache.add(words, map_of(words));
      }
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  CHECK(num_wrong == 0);
  CHECK(num_found > 0);
}

}  // namespace tilewire

#include "runtime/nccl/window_pool.h"

#include <random>

#include "tests/catch.h"

namespace tilewire {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

WindowPool::DroppedBits operator&(WindowPool::DroppedBits a, const WindowPool::DroppedBits& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] &= b[i];
  return a;
}

/// An allocation as a world makes it.
int allocate(WindowPool& pool, std::uint64_t num_bytes) {
  if (const auto window = pool.take(num_bytes)) return *window;
  pool.add_segment(WindowPool::segment_bytes(num_bytes), false);
  return pool.take(num_bytes).value();
}

}  // namespace

TEST_CASE("small windows share a segment") {
  WindowPool pool;
  for (int i = 0; i < 100; ++i) CHECK(allocate(pool, 100) == i);
  CHECK(pool.place(99) == WindowPool::Place{0, 99 * 512, 512});
  CHECK(pool.empty_segments().empty());
}

TEST_CASE("segments come in classes an eighth apart") {
  CHECK(WindowPool::segment_bytes(1) == 2 * kMiB);
  CHECK(WindowPool::segment_bytes(2 * kMiB) == 2 * kMiB);
  CHECK(WindowPool::segment_bytes(2 * kMiB + 1) == 4 * kMiB);
  CHECK(WindowPool::segment_bytes(64 * kMiB) == 64 * kMiB);
  CHECK(WindowPool::segment_bytes(65 * kMiB) == 72 * kMiB);
  CHECK(WindowPool::segment_bytes(1001 * kMiB) == 1024 * kMiB);
}

TEST_CASE("a freed window's place serves the next that fits, the tightest first") {
  WindowPool pool;
  const int large = allocate(pool, 60 * kMiB);
  const int small = allocate(pool, 3 * kMiB);
  const int after = allocate(pool, kMiB);
  CHECK(pool.place(after).segment == pool.place(small).segment);
  pool.free(large);
  pool.free(small);
  CHECK(allocate(pool, 3 * kMiB - 7) == large);  // the lower number, in the smaller hole
  CHECK(pool.place(large) == WindowPool::Place{1, 0, 3 * kMiB});
  CHECK(pool.empty_segments() == std::vector<int>{0});
  CHECK(pool.place(allocate(pool, 59 * kMiB)).segment == 0);
}

TEST_CASE("a reserved segment serves windows without another one and stays") {
  WindowPool pool;
  pool.add_segment(1024 * kMiB, true);
  for (int i = 0; i < 16; ++i) CHECK(pool.take(64 * kMiB).has_value());
  CHECK_FALSE(pool.take(1).has_value());
  for (int i = 0; i < 16; ++i) pool.free(i);
  CHECK(pool.empty_segments().empty());
  CHECK(pool.take(1024 * kMiB).has_value());
}

TEST_CASE("dropped windows are given back when all ranks have dropped them") {
  WindowPool ranks[2];
  for (WindowPool& pool : ranks) {
    for (int i = 0; i < 4; ++i) allocate(pool, kMiB / 2);
  }
  ranks[0].drop(1);
  ranks[0].drop(3);
  ranks[1].drop(3);
  ranks[1].drop(0);
  const auto by_all = ranks[0].dropped() & ranks[1].dropped();
  for (WindowPool& pool : ranks) {
    CHECK(pool.free_dropped(by_all) == std::vector<int>{3});
    CHECK(pool.has(0));
    CHECK_FALSE(pool.has(3));
  }
  CHECK(ranks[0].digest() == ranks[1].digest());
  // Freed by hand on all ranks, after one has dropped it.
  for (WindowPool& pool : ranks) pool.free(1);
  CHECK((ranks[0].dropped()[0] & 2) == 0);
}

TEST_CASE("windows lie at equal offsets whatever order ranks drop them in") {
  std::mt19937 random(11);
  constexpr int kRanks = 3;
  WindowPool ranks[kRanks];
  std::vector<int> alive;
  for (int step = 0; step < 400; ++step) {
    // Each rank drops what the user let go of some time ago, or does so later.
    WindowPool::DroppedBits by_all = ranks[0].dropped();
    for (const WindowPool& pool : ranks) by_all = by_all & pool.dropped();
    for (WindowPool& pool : ranks) pool.free_dropped(by_all);
    const std::uint64_t num_bytes = random() % (8 * kMiB);
    const int window = allocate(ranks[0], num_bytes);
    for (WindowPool* pool : {&ranks[1], &ranks[2]}) CHECK(allocate(*pool, num_bytes) == window);
    for (const WindowPool& pool : ranks) {
      CHECK(pool.place(window) == ranks[0].place(window));
      CHECK(pool.digest() == ranks[0].digest());
    }
    alive.push_back(window);
    for (int i = 0; i < 3 && random() % 4 != 0; ++i) {
      const int chosen = alive[random() % alive.size()];
      WindowPool& pool = ranks[random() % kRanks];
      if (pool.has(chosen)) pool.drop(chosen);
    }
  }
}

TEST_CASE("pools that differ have other digests") {
  WindowPool a;
  WindowPool b;
  allocate(a, 100);
  allocate(a, 1000);
  allocate(b, 1000);
  allocate(b, 100);
  CHECK(a.digest() != b.digest());
}

}  // namespace tilewire

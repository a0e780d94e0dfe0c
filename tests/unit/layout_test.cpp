#include "templates/tilewire/layout.cuh"

#include <vector>

#include "tests/catch.h"

namespace tilewire::device {
namespace {

template <int kElements, int kVector, int kThreads>
void check_blocked() {
  using L = Blocked<kElements, kVector, kThreads>;
  std::vector<int> holders(kElements, 0);
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int slot = 0; slot < L::kRegisters; ++slot) {
      const int element = L::element(thread, slot);
      REQUIRE(L::holds(thread, slot) == (element < kElements));
      REQUIRE(L::thread(element) == thread);
      REQUIRE(L::slot(element) == slot);
      if (element < kElements) ++holders[static_cast<std::size_t>(element)];
      // A vector's elements are neighbours.
      if (slot % kVector != 0) REQUIRE(element == L::element(thread, slot - 1) + 1);
    }
  }
  for (const int count : holders) REQUIRE(count == 1);
  CHECK(L::kIsFull == (kElements % (kVector * kThreads) == 0));
  CHECK((L::kRegisters - kVector) * kThreads < kElements);
}

template <typename Result, typename Source>
void check_broadcast() {
  for (int index = 0; index < Result::kElements; ++index) {
    int rest = index;
    int expected = 0;
    int stride = 1;
    for (int i = Result::kRank - 1; i >= 0; --i) {
      const int coordinate = rest % Result::size(i);
      rest /= Result::size(i);
      expected += (Source::size(i) == 1 ? 0 : coordinate) * stride;
      stride *= Source::size(i);
    }
    REQUIRE(broadcast_source<Result, Source>(index) == expected);
  }
}

}  // namespace

TEST_CASE("every element of a blocked layout is held once, where it says") {
  check_blocked<8192, 8, 1024>();
  check_blocked<8192, 8, 512>();
  check_blocked<1000, 8, 128>();
  check_blocked<1003, 1, 128>();
  check_blocked<33, 1, 32>();
  check_blocked<1, 1, 256>();
  check_blocked<5120, 4, 1024>();
  check_blocked<1536, 2, 96>();
  check_blocked<16, 16, 128>();
}

TEST_CASE("a broadcast element comes from the one with the repeated extents at 0") {
  check_broadcast<Extents<16, 96>, Extents<16, 1>>();
  check_broadcast<Extents<16, 96>, Extents<1, 96>>();
  check_broadcast<Extents<3, 5, 7>, Extents<1, 5, 1>>();
  check_broadcast<Extents<3, 5, 7>, Extents<3, 1, 7>>();
  check_broadcast<Extents<12>, Extents<1>>();
  check_broadcast<Extents<12>, Extents<12>>();
}

TEST_CASE("pieces of a tile fit into shared memory") {
  CHECK(piece_elements(100, 4) == 100);
  CHECK(piece_elements(100000, 4) == 8192);
  CHECK(piece_bytes(100000, 4) == kMaxPieceBytes);
  CHECK(piece_bytes(3, 2) == 6);
  CHECK(reduce_bytes(512, 4) == 64);
}

TEST_CASE("as many lanes share a result as there are threads for, within a warp") {
  CHECK(threads_per_result(1, 128) == 32);
  CHECK(threads_per_result(4, 128) == 32);
  CHECK(threads_per_result(5, 128) == 16);
  CHECK(threads_per_result(128, 128) == 1);
  CHECK(threads_per_result(1000, 128) == 1);
  CHECK(smallest_power_of_two(1) == 1);
  CHECK(smallest_power_of_two(3) == 4);
  CHECK(smallest_power_of_two(32) == 32);
}

}  // namespace tilewire::device

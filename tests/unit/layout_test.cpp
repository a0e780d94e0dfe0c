#include "templates/tilewire/layout.cuh"

#include "tests/unit/check_layout.h"

namespace tilewire::device {
namespace {

/// `Rows` with its two slices: each holds what the threads of a row or column need.
template <int kRows, int kColumns, int kVector, int kLanes, int kThreads>
void check_rows() {
  using L = Rows<kRows, kColumns, kVector, kLanes, kThreads>;
  using R = PerRow<kRows, kLanes, kThreads>;
  using C = PerColumn<kColumns, kVector, kLanes, kThreads>;
  check_layout<L>(1);
  check_layout<R>(kLanes);
  check_layout<C>(kThreads / kLanes);
  check_slots<L, R, C>();
  for (int thread = 0; thread < kThreads; ++thread) {
    for (int slot = 0; slot < L::kRegisters; ++slot) {
      if (!L::holds(thread, slot)) continue;
      const int element = L::element(thread, slot);
      REQUIRE(R::holds(thread, slot / L::kRowSlots));
      REQUIRE(R::element(thread, slot / L::kRowSlots) == element / kColumns);
      REQUIRE(C::holds(thread, slot % L::kRowSlots));
      REQUIRE(C::element(thread, slot % L::kRowSlots) == element % kColumns);
    }
  }
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

TEST_CASE("a blocked layout holds every element once") {
  check_layout<Blocked<8192, 8, 1024>>(1);
  check_layout<Blocked<8192, 8, 512>>(1);
  check_layout<Blocked<1000, 8, 128>>(1);
  check_layout<Blocked<1003, 1, 128>>(1);
  check_layout<Blocked<33, 1, 32>>(1);
  check_layout<Blocked<1, 1, 256>>(1);
  check_layout<Blocked<5120, 4, 1024>>(1);
  check_layout<Blocked<1536, 2, 96>>(1);
  check_layout<Blocked<16, 16, 128>>(1);
  static_assert(Blocked<4000, 8, 128>::element(3, 8) == 8 * 128 + 3 * 8);
}

TEST_CASE("rows over groups of threads, and their slices") {
  check_rows<16, 128, 8, 16, 128>();
  check_rows<16, 96, 8, 4, 128>();
  check_rows<33, 1000, 8, 32, 256>();
  check_rows<33, 1000, 1, 32, 128>();
  check_rows<7, 33, 1, 4, 64>();
  check_rows<5, 12, 4, 1, 32>();
  check_rows<3, 8192, 8, 256, 512>();
  check_rows<2, 4096, 8, 128, 128>();
  check_rows<1, 24, 8, 2, 32>();
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

#include "runtime/nccl/world.h"

#include "compiler/support/error.h"
#include "runtime/nccl/nccl.h"
#include "tests/catch.h"

namespace tilewire {

TEST_CASE("a lane's parts don't overlap and serve the largest co-resident grid") {
  for (const int lsa_size : {1, 2, 3, 8, 72}) {
    CAPTURE(lsa_size);
    const LaneShape shape = LaneShape::of(132, 32, lsa_size);
    CHECK(shape.num_slots == 132 * 32);
    CHECK(shape.barrier_offset + 4ull * shape.num_slots * lsa_size <= shape.phase_offset);
    CHECK(shape.phase_offset % 128 == 0);
    CHECK(shape.phase_offset + 4ull * shape.num_slots == shape.num_bytes);
  }
}

TEST_CASE("a window's copies lie one stride apart, as far as loads reach") {
  // Ranks 4 to 7 of a larger world.
  const Window window(256,
                      {.flat_base = 0x1000, .stride = 1ull << 32, .first_rank = 4, .lsa_size = 4},
                      {device::WindowHandle{}});
  CHECK(window.address(4) == 0x1000);
  CHECK(window.address(7) == 0x1000 + (3ull << 32));
  CHECK(window.is_reachable(5));
  CHECK_FALSE(window.is_reachable(3));
  CHECK_THROWS_WITH(window.address(8),
                    "no load or store from this process reaches rank 8's copy of the window: it "
                    "reaches ranks 4 to 7");
}

TEST_CASE("NCCL versions that tilewire doesn't know are refused") {
  CHECK(nccl::version_to_string(22809) == "2.28.9");
  CHECK_NOTHROW(nccl::require_known_version(22809, "/lib/libnccl.so.2"));
  CHECK_NOTHROW(nccl::require_known_version(22807, "/lib/libnccl.so.2"));
  CHECK_THROWS_WITH(nccl::require_known_version(22803, "/lib/libnccl.so.2"),
                    test::contains("NCCL 2.28.3 (/lib/libnccl.so.2) is too old"));
  CHECK_THROWS_WITH(
      nccl::require_known_version(23007, "/lib/libnccl.so.2"),
      test::contains("NCCL 2.30.7 (/lib/libnccl.so.2) asks for device communicators"));
}

}  // namespace tilewire

#include "runtime/nccl/signal_pool.h"

#include "compiler/support/error.h"
#include "runtime/nccl/network_limits.h"
#include "tests/catch.h"

namespace tilewire {

TEST_CASE("signals are numbered from 1, alike wherever the same calls are made") {
  SignalPool pool(64);
  SignalPool peer(64);
  for (SignalPool* each : {&pool, &peer}) {
    CHECK(each->take(16, "a lane") == 1);
    CHECK(each->take(4, "comm.semaphore(4)") == 17);
    CHECK(each->take(8, "comm.channel(8)") == 21);
    each->give_back(17);
    CHECK(each->take(2, "comm.semaphore(2)") == 17);
    CHECK(each->num_free() == 63 - 16 - 2 - 8);
  }
}

TEST_CASE("numbers that were given back are used again, the tightest hole first") {
  SignalPool pool(64);
  const auto a = pool.take(10, "a");
  const auto b = pool.take(4, "b");
  const auto c = pool.take(6, "c");
  const auto d = pool.take(4, "d");
  pool.give_back(a);
  pool.give_back(c);
  CHECK(pool.take(5, "e") == c);
  CHECK(pool.take(7, "f") == a);
  pool.give_back(b);
  pool.give_back(d);
  CHECK(pool.take(40, "g") == c + 5);
}

TEST_CASE("whoever takes numbers that had an owner is told") {
  SignalPool pool(64);
  const auto first = pool.take(8, "a");
  CHECK_FALSE(pool.was_used(first));
  pool.note_used(first);
  CHECK(pool.was_used(first));
  pool.give_back(first);
  CHECK(pool.was_used(pool.take(4, "b")));
  CHECK(pool.was_used(pool.take(4, "c")));
  CHECK_FALSE(pool.was_used(pool.take(8, "d")));
}

TEST_CASE("running out of signals says which variable asks NCCL for more") {
  SignalPool pool(64);
  pool.take(60, "a lane");
  CHECK_THROWS_WITH(
      pool.take(4, "comm.semaphore(4)"),
      "comm.semaphore(4) takes 4 signals of the network in a row, of which 3 of the "
      "communicator's 64 are left: free objects, or set TILEWIRE_GIN_SIGNALS to more");
  CHECK(pool.take(3, "comm.semaphore(3)") == 61);
}

TEST_CASE("the grid of a kernel that uses the network fits the lane") {
  Artifact artifact;
  artifact.kernel = "k";
  const LaneShape shape =
      LaneShape::of(132, 32, 8, {.world_size = 128, .num_contexts = 4, .num_signals = 65536});
  artifact.resources.staging_bytes = 1 << 20;
  CHECK(network_grid_limit(artifact, shape, 4224) == 4224);
  artifact.resources = {.network = true};
  CHECK(network_grid_limit(artifact, shape, 4224) == 4224);
  artifact.resources.world_barrier = true;
  CHECK(network_grid_limit(artifact, shape, 4224) == 128);
  CHECK(network_grid_limit(artifact, shape, 100) == 100);
  artifact.resources.staging_bytes = 1 << 20;
  CHECK(network_grid_limit(artifact, shape, 100) == 32);
  artifact.resources.staging_bytes = (1 << 20) + 1;
  CHECK(network_grid_limit(artifact, shape, 100) == 31);
  CHECK_NOTHROW(check_network_grid(artifact, shape, 1, 31));
  CHECK_THROWS_WITH(
      check_network_grid(artifact, shape, 1, 32),
      "kernel `k`: a grid of 32 on lane 1, which has barrier slots and memory for 31 "
      "program instances of it over the network: use tw.auto or a grid of at most 31");
  artifact.resources.staging_bytes = (32 << 20) + 1;
  CHECK_THROWS_WITH(network_grid_limit(artifact, shape, 100),
                    "kernel `k` sends 33554433 bytes at a time over the network, and a lane holds "
                    "33554432 until they are sent: use smaller tiles");
}

}  // namespace tilewire

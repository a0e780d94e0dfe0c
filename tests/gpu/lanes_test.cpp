// Several lanes at once, and launches of one lane that don't fit together, between virtual ranks.
#include <chrono>
#include <string>
#include <thread>

#include "compiler/support/error.h"
#include "runtime/nccl/virtual_ranks.h"
#include "tests/gpu/graph.h"
#include "tests/gpu/norm_run.h"

namespace tilewire {
namespace {

using test::NormRun;

/// What `check` throws within some seconds.
std::string told(const GpuWorld& world) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    try {
      world.check();
    } catch (const Error& error) {
      return error.message();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return "nothing";
}

void check_that_a_new_world_works() {
  const auto world = VirtualRanks::create(2, 0);
  const OwnedStream stream(world->device());
  NormRun run(world, {.dtype = DType::kBF16, .rows = 8, .columns = 1024});
  run.fill(2);
  run.launch(stream.get());
  stream.synchronize();
  CHECK(run.worst_error() <= 1.0);
  world->close();
}

}  // namespace

TEST_CASE("two lanes run side by side on two streams") {
  TILEWIRE_NEEDS_GPU();
  const auto world = VirtualRanks::create(2, 0);
  LaneGroup& second = world->make_lane(1, {.num_sms = 16});
  CHECK(&world->make_lane(1, {.num_sms = 16}) == &second);
  CHECK_THROWS_AS(world->make_lane(1, {.num_sms = 8}), UserError);
  NormRun a(world, {.dtype = DType::kBF16, .rows = 64, .columns = 2048});
  NormRun b(world, {.dtype = DType::kF32, .rows = 33, .columns = 1024});
  a.fill(1);
  b.fill(2);
  CHECK(world->grid_limit(b.kernel(), 1) == 16);
  const OwnedStream streams[2] = {OwnedStream(world->device()), OwnedStream(world->device())};
  for (int i = 0; i < 500; ++i) {
    a.launch(streams[0].get(), 1 + i % 8);
    world->launch(b.kernel(), 1 + i % 16, streams[1].get(), b.values().data(), &second);
  }
  for (const OwnedStream& stream : streams) stream.synchronize();
  CHECK(a.worst_error() <= 1.0);
  CHECK(b.worst_error() <= 1.0);
  CHECK_NOTHROW(world->check());
  world->close();
}

TEST_CASE("a graph on a lane of its own replays beside eager launches of another") {
  TILEWIRE_NEEDS_GPU();
  const auto world = VirtualRanks::create(2, 0);
  LaneGroup& second = world->make_lane(1, {.num_sms = 16});
  NormRun a(world, {.dtype = DType::kBF16, .rows = 16, .columns = 2048});
  NormRun b(world, {.dtype = DType::kBF16, .rows = 16, .columns = 1024});
  a.fill(1);
  b.fill(2);
  const OwnedStream eager(world->device());
  const OwnedStream replays(world->device());
  world->launch(b.kernel(), 4, replays.get(), b.values().data(), &second);
  replays.synchronize();
  const test::Graph graph(replays.get(), [&] {
    world->launch(b.kernel(), 4, replays.get(), b.values().data(), &second);
    world->launch(b.kernel(), 5, replays.get(), b.values().data(), &second);
  });
  for (int i = 0; i < 300; ++i) {
    graph.launch(replays.get());
    a.launch(eager.get(), 4);
  }
  eager.synchronize();
  replays.synchronize();
  CHECK(a.worst_error() <= 1.0);
  CHECK(b.worst_error() <= 1.0);
  CHECK_NOTHROW(world->check());
  world->close();
}

TEST_CASE("two launches of a lane at once are told") {
  TILEWIRE_NEEDS_GPU();
  const auto world = VirtualRanks::create(2, 0);
  NormRun a(world, {.dtype = DType::kBF16, .rows = 512, .columns = 8192});
  NormRun b(world, {.dtype = DType::kBF16, .rows = 512, .columns = 4096});
  a.fill(1);
  b.fill(2);
  // Virtual ranks have a stream per lane: eager launches take turns, so the replay must not.
  const OwnedStream replays(world->device());
  const OwnedStream eager(world->device());
  const test::Graph graph(replays.get(), [&] { a.launch(replays.get(), 8); });
  std::string message = "nothing";
  for (int i = 0; i < 200 && message == "nothing"; ++i) {
    graph.launch(replays.get());
    try {
      b.launch(eager.get(), 8);
      world->check();
    } catch (const Error& error) {
      message = error.message();
    }
  }
  if (message == "nothing") message = told(*world);
  // Ranks may also have begun the two in different orders.
  CHECK_THAT(message, test::contains("lane 0"));
  CHECK_THAT(message, test::contains("on a grid of 8"));
  CHECK_THROWS_AS(a.launch(eager.get(), 8), Error);
  world->abort();
  world->close();
  check_that_a_new_world_works();
}

TEST_CASE("ranks that launch different kernels are told both, soon") {
  TILEWIRE_NEEDS_GPU();
  const auto world = VirtualRanks::create(2, 0);
  NormRun a(world, {.dtype = DType::kBF16, .rows = 8, .columns = 1024});
  NormRun b(world, {.dtype = DType::kBF16, .rows = 8, .columns = 2048});
  a.fill(1);
  b.fill(2);
  const OwnedStream streams[2] = {OwnedStream(world->device()), OwnedStream(world->device())};
  a.launch(streams[0].get(), 2);
  b.launch(streams[0].get(), 2);
  streams[0].synchronize();
  CHECK_NOTHROW(world->check());
  // The same number of barriers, so that both end; the next launch compares.
  world->launch_on({0}, a.kernel(), 2, streams[0].get(), a.values().data());
  world->launch_on({1}, b.kernel(), 2, streams[1].get(), b.values().data());
  for (const OwnedStream& stream : streams) stream.synchronize();
  CHECK_NOTHROW(world->check());
  a.launch(streams[0].get(), 2);
  const std::string message = told(*world);
  CHECK_THAT(message, test::contains("ranks launched different things on lane 0"));
  CHECK_THAT(message, test::contains("H=1024"));
  CHECK_THAT(message, test::contains("H=2048"));
  world->abort();
  world->close();
  check_that_a_new_world_works();
}

TEST_CASE("ranks that launch different grids are told both while they wait") {
  TILEWIRE_NEEDS_GPU();
  const auto world = VirtualRanks::create(2, 0);
  NormRun a(world, {.dtype = DType::kBF16, .rows = 8, .columns = 1024});
  a.fill(1);
  const OwnedStream streams[2] = {OwnedStream(world->device()), OwnedStream(world->device())};
  world->launch_on({0}, a.kernel(), 2, streams[0].get(), a.values().data());
  world->launch_on({1}, a.kernel(), 3, streams[1].get(), a.values().data());
  const std::string message = told(*world);
  CHECK_THAT(message, test::contains("on a grid of 2"));
  CHECK_THAT(message, test::contains("on a grid of 3"));
  world->abort();
  world->close();
  check_that_a_new_world_works();
}

TEST_CASE("windows that were let go are reused by the next") {
  TILEWIRE_NEEDS_GPU();
  const auto world = VirtualRanks::create(2, 0);
  constexpr std::size_t kBytes = std::size_t{40} << 20;
  auto first = world->window(kBytes);
  const cuda::DevicePointer address = first->address(1);
  auto second = world->window(kBytes);
  CHECK(second->address(1) != address);
  first.reset();
  CHECK(world->window(kBytes - 100)->address(1) == address);
  CHECK(world->window(100)->address(1) == address);  // the one before was let go at once
  world->free(*second);
  CHECK_THROWS_AS(second->address(0), UserError);
  world->reserve(kBytes);
  world->trim();
  world->close();
}

}  // namespace tilewire

// Waits that nobody meets. The first test leaves a dead context behind and needs a process of its
// own: `TILEWIRE_TIMEOUT=2 gpu_tests "[.hang]"`.
#include <chrono>
#include <thread>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/driver/watchdog.h"
#include "runtime/nccl/virtual_ranks.h"
#include "tests/gpu/norm_run.h"

namespace tilewire {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

TEST_CASE("a rank that never launches is named, with the line, within the time", "[.hang]") {
  TILEWIRE_NEEDS_GPU();
  const double timeout_s = Environment::get().timeout_s;
  REQUIRE(timeout_s <= 10);  // set TILEWIRE_TIMEOUT
  const auto world = VirtualRanks::create(4, 0);
  const OwnedStream stream(world->device());
  test::NormRun run(world, {.dtype = DType::kBF16, .rows = 256, .columns = 1024});
  run.fill(1);
  run.launch(stream.get());
  stream.synchronize();
  CHECK(run.worst_error() <= 1.0);

  const auto start = std::chrono::steady_clock::now();
  world->launch_on({0, 1, 3}, run.kernel(), run.auto_grid(), stream.get(), run.values().data());
  const auto missing = test::contains("norm.cpp:12: rank 2 never arrived: rank ");
  std::string told;
  while (told.empty() && seconds_since(start) < timeout_s + 20) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    try {
      world->check();
    } catch (const HangError& error) {
      told = error.what();
    }
  }
  CHECK_THAT(told, missing);
  CHECK(seconds_since(start) >= timeout_s);
  CHECK(seconds_since(start) < timeout_s + 0.5);
  // Who waits for the GPU hears of it when the driver has dealt with the trap: seconds later.
  CHECK_THROWS_WITH(world->synchronize(), missing);
  CHECK(seconds_since(start) < timeout_s + 15);
  // Both stages were printed on the way, and everything later says the same.
  const std::vector<std::string> lines = Watchdog::get().lines();
  REQUIRE(lines.size() >= 2);
  CHECK_THAT(lines.front(), test::contains("has waited for rank 2"));
  CHECK_THAT(lines.back(), test::contains("rank 2 never arrived"));
  CHECK_THROWS_AS(run.launch(stream.get()), HangError);
  CHECK_THROWS_AS(check_cuda(cuda::kErrorLaunchFailed, "cuLaunchKernelEx"), HangError);
  CHECK_NOTHROW(world->close());
}

TEST_CASE("abort lets waiting kernels leave, and the process goes on") {
  TILEWIRE_NEEDS_GPU();
  auto world = VirtualRanks::create(2, 0);
  const OwnedStream stream(world->device());
  {
    test::NormRun run(world, {.dtype = DType::kBF16, .rows = 8, .columns = 1024});
    run.fill(1);
    world->launch_on({0}, run.kernel(), run.auto_grid(), stream.get(), run.values().data());
    world->abort();
    world->device().synchronize();
    CHECK_THROWS_WITH(run.launch(stream.get()), test::contains("was aborted"));
    world->close();
  }
  world = VirtualRanks::create(2, 0);
  test::NormRun run(world, {.dtype = DType::kBF16, .rows = 8, .columns = 1024});
  run.fill(2);
  run.launch(stream.get());
  stream.synchronize();
  CHECK(run.worst_error() <= 1.0);
  world->close();
}

}  // namespace tilewire

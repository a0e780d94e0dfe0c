#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>

#include "compiler/support/error.h"
#include "runtime/cpu/barrier.h"
#include "runtime/cpu/launch_control.h"
#include "runtime/cpu/thread_pool.h"
#include "tests/catch.h"
#include "tests/cpu/hand_made.h"

namespace tilewire {
namespace {

void count(CpuInstance* instance, const std::uint64_t* arguments) {
  auto* counts = reinterpret_cast<std::atomic<int>*>(arguments[0]);
  std::memset(instance->arena, static_cast<int>(instance->rank), 1000);
  const std::int64_t num_instances =
      instance->num_programs[0] * instance->num_programs[1] * instance->num_programs[2];
  ++counts[instance->rank * num_instances + instance->linear_program_id()];
}

TEST_CASE("programs that never wait run once per rank and program id", "[cpu]") {
  const CpuKernel kernel = hand_made(count, 3, 3, 0);
  Artifact artifact = kernel.artifact();
  artifact.arena_bytes = 1000;
  const CpuKernel with_arena(artifact, count);
  VirtualWorld world(3, 3, 0);
  std::vector<std::atomic<int>> counts(3 * 5 * 7 * 2);
  const std::vector<RankLaunch> ranks(
      3, {&with_arena, {5, 7, 2}, {reinterpret_cast<std::uint64_t>(counts.data())}});
  for (int launch = 1; launch <= 100; ++launch) world.launch(ranks);
  for (const auto& value : counts) REQUIRE(value == 100);
}

TEST_CASE("a grid of more instances than can be counted is refused", "[cpu]") {
  const CpuKernel kernel = hand_made(count, 1, 1, 0);
  VirtualWorld world(1, 1, 0);
  const std::int64_t large = std::int64_t{1} << 31;
  for (const std::array<std::int64_t, 3>& grid :
       {std::array{large, large, large}, std::array{large, std::int64_t{1}, std::int64_t{1}},
        std::array{large, large, std::int64_t{4}}}) {
    const std::vector<RankLaunch> ranks(1, {&kernel, grid, {0}});
    CHECK_THROWS_AS(world.launch(ranks), UserError);
  }
}

void throw_often(CpuInstance* instance, const std::uint64_t*) {
  if (instance->program_id[0] % 3 == 1) throw UserError("no");
}

TEST_CASE("an exception on a worker thread reaches the caller", "[cpu]") {
  VirtualWorld world(2, 2, 0);
  const CpuKernel kernel = hand_made(throw_often, 2, 2, 0);
  for (int i = 0; i < 20; ++i) {
    CHECK_THROWS_AS(world.launch(kernel, 1000, same_argument(2, nullptr)), UserError);
  }
}

void wait_unannounced(CpuInstance* instance, const std::uint64_t*) {
  cpu_barrier(*instance, CpuTeam::kLsa, 0);
}

void go_round_forever(CpuInstance* instance, const std::uint64_t*) {
  while (true) cpu_check_in(instance);
}

void go_round_after_a_barrier(CpuInstance* instance, const std::uint64_t* arguments) {
  cpu_barrier(*instance, CpuTeam::kLsa, 0);
  go_round_forever(instance, arguments);
}

TEST_CASE("what the interrupt check throws ends a launch", "[cpu]") {
  set_interrupt_check([] { throw std::runtime_error("interrupted"); });
  VirtualWorld world(2, 2, 0);
  for (const std::int64_t grid : {1, 5}) {
    CHECK_THROWS_WITH(
        world.launch(hand_made(go_round_forever, 2, 2, 0), grid, same_argument(2, nullptr)),
        "interrupted");
  }
  const CpuKernel waits = hand_made(go_round_after_a_barrier, 2);
  CHECK_THROWS_WITH(world.launch(waits, 5, same_argument(2, nullptr)), "interrupted");
  CHECK_THROWS_AS(world.launch(waits, 5, same_argument(2, nullptr)), UserError);
  set_interrupt_check(nullptr);
}

TEST_CASE("waiting in a program that never waits is caught", "[cpu]") {
  VirtualWorld world(1, 1, 0);
  CHECK_THROWS_AS(world.launch(hand_made(wait_unannounced, 1, 1, 0), 3, same_argument(1, nullptr)),
                  InternalError);
}

TEST_CASE("the thread pool works in a forked child", "[cpu]") {
  const auto sum_below = [](std::int64_t count) {
    std::atomic<std::int64_t> sum{0};
    parallel_for(count, [&](std::int64_t i) { sum += i; });
    return sum.load();
  };
  REQUIRE(sum_below(1000) == 499500);
  const pid_t child = fork();
  if (child == 0) _exit(sum_below(1000) == 499500 ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(sum_below(0) == 0);
  CHECK(sum_below(1) == 0);
}

TEST_CASE("launches that don't fit the world are refused", "[cpu]") {
  VirtualWorld world(2, 2, 0);
  std::vector<std::atomic<int>> counts(10);
  CHECK_THROWS_WITH(world.launch(hand_made(count, 4, 4, 0), 1, same_argument(2, counts.data())),
                    "`hand_made` was compiled for 4 ranks in LSA teams of 4; this world has 2 in "
                    "teams of 2");
  const CpuKernel kernel = hand_made(count, 2, 2, 0);
  CHECK_THROWS_WITH(world.launch(kernel, 0, same_argument(2, counts.data())),
                    "`hand_made`: a grid of 0 × 1 × 1; each extent is 1 or more");
  CHECK_THROWS_AS(world.launch(kernel, 1, same_argument(3, counts.data())), UserError);
  const std::vector<std::vector<std::uint64_t>> no_arguments(2);
  CHECK_THROWS_WITH(world.launch(kernel, 1, no_arguments),
                    "`hand_made` takes 1 argument slots, got 0");
  CHECK_THROWS_AS(VirtualWorld(6, 4, 0), UserError);
}

TEST_CASE("windows are zeroed, aligned, one copy per rank", "[cpu]") {
  VirtualWorld world(3, 3, 0);
  const auto window = world.make_window(1000);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(window->addresses()[rank] == reinterpret_cast<std::uint64_t>(window->data(rank)));
    CHECK(window->addresses()[rank] % 64 == 0);
    const auto* bytes = static_cast<const char*>(window->data(rank));
    CHECK(std::count(bytes, bytes + 1000, 0) == 1000);
  }
  CHECK(world.make_window(0)->data(2) != nullptr);
}

}  // namespace
}  // namespace tilewire

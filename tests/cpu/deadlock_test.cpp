#include <stdexcept>

#include "compiler/support/error.h"
#include "runtime/cpu/barrier.h"
#include "tests/catch.h"
#include "tests/cpu/hand_made.h"

namespace tilewire {
namespace {

/// Counts the instances whose stack is in use.
struct Alive {
  explicit Alive(int& count) : count_(count) { ++count_; }
  ~Alive() { --count_; }
  int& count_;
};

void rank_1_leaves_early(CpuInstance* instance, const std::uint64_t* arguments) {
  const Alive alive(*reinterpret_cast<int*>(arguments[0]));
  cpu_barrier(*instance, CpuTeam::kLsa, 0);
  if (instance->rank == 1 && instance->program_id[0] == 1) return;
  cpu_barrier(*instance, CpuTeam::kLsa, 2);
}

std::string message_of(VirtualWorld& world, std::span<const RankLaunch> ranks) {
  try {
    world.launch(ranks);
  } catch (const HangError& error) {
    return error.what();
  }
  return "no HangError";
}

TEST_CASE("an instance that misses a barrier is named with all who wait", "[cpu]") {
  int alive = 0;
  const CpuKernel kernel = hand_made(rank_1_leaves_early, 3);
  const std::vector<RankLaunch> ranks(
      3, {&kernel, {4, 1, 1}, {reinterpret_cast<std::uint64_t>(&alive)}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    VirtualWorld world(3, 3, seed);
    CHECK(message_of(world, ranks) ==
          "hand_made.py:3: deadlock in `hand_made` on 3 virtual ranks: no instance can go on\n"
          "  rank 0, program 1: waits at hand_made.py:3 in barrier(team=world) for rank 1, which "
          "has finished\n"
          "  rank 2, program 1: waits at hand_made.py:3 in barrier(team=world) for rank 1, which "
          "has finished");
    CHECK(alive == 0);
    CHECK_THROWS_WITH(world.launch(ranks), Catch::Matchers::StartsWith(
                                               "`hand_made`: lane 0 has ended, since a launch on "
                                               "it failed; make a new world, or launch on another "
                                               "lane. That launch: "));
  }
}

void one_barrier(CpuInstance* instance, const std::uint64_t*) {
  cpu_barrier(*instance, CpuTeam::kWorld, 1);
}

TEST_CASE("a rank that never launches is named", "[cpu]") {
  const CpuKernel kernel = hand_made(one_barrier, 4);
  std::vector<RankLaunch> ranks(4, {&kernel, {3, 1, 1}, {0}});
  ranks[2].kernel = nullptr;
  ranks[3].grid = {2, 1, 1};
  VirtualWorld world(4, 4, 0);
  const std::string site = "waits at hand_made.py:2 in barrier(team=world) for ";
  CHECK(message_of(world, ranks) ==
        "hand_made.py:2: deadlock in `hand_made` on 4 virtual ranks: no instance can go on\n"
        "  rank 0, programs 0-1: " +
            site +
            "rank 2, which never launched\n"
            "  rank 0, program 2: " +
            site +
            "rank 2, which never launched; for rank 3, whose grid has "
            "only 2 instances\n"
            "  rank 1, programs 0-1: " +
            site +
            "rank 2, which never launched\n"
            "  rank 1, program 2: " +
            site +
            "rank 2, which never launched; for rank 3, whose grid has "
            "only 2 instances\n"
            "  rank 3, programs 0-1: " +
            site + "rank 2, which never launched");
}

void teams_in_two_orders(CpuInstance* instance, const std::uint64_t*) {
  if (instance->rank < 2) cpu_barrier(*instance, CpuTeam::kLsa, 0);
  cpu_barrier(*instance, CpuTeam::kWorld, 1);
  if (instance->rank == 3) cpu_barrier(*instance, CpuTeam::kLsa, 2);
  if (instance->rank == 2) cpu_barrier(*instance, CpuTeam::kWorld, 0);
}

TEST_CASE("who waits for whom is said where both wait", "[cpu]") {
  const CpuKernel kernel = hand_made(teams_in_two_orders, 4, 2);
  VirtualWorld world(4, 2, 0);
  const std::vector<RankLaunch> ranks(4, {&kernel, {1, 1, 1}, {0}});
  const std::string message = message_of(world, ranks);
  CHECK_THAT(message, Catch::Matchers::Contains(
                          "rank 3, program 0: waits at hand_made.py:3 in barrier(team=world) for "
                          "rank 2, which waits at hand_made.py:1 in barrier(team=world)"));
}

void one_throws(CpuInstance* instance, const std::uint64_t* arguments) {
  const Alive alive(*reinterpret_cast<int*>(arguments[0]));
  cpu_barrier(*instance, CpuTeam::kLsa, 0);
  if (instance->rank == 0) throw UserError("rank 0 has had enough");
  cpu_barrier(*instance, CpuTeam::kLsa, 1);
}

TEST_CASE("an exception ends the launch and unwinds every stack", "[cpu]") {
  int alive = 0;
  const CpuKernel kernel = hand_made(one_throws, 8);
  for (int round = 0; round < 50; ++round) {
    VirtualWorld world(8, 8, static_cast<std::uint64_t>(round));
    CHECK_THROWS_WITH(world.launch(kernel, 7, same_argument(8, &alive)), "rank 0 has had enough");
    CHECK(alive == 0);
  }
}

void use_much_stack(CpuInstance* instance, const std::uint64_t* arguments) {
  volatile char page[160 * 1024];
  for (std::size_t i = 0; i < sizeof(page); i += 512) page[i] = 1;
  cpu_barrier(*instance, CpuTeam::kLsa, 0);
  *reinterpret_cast<int*>(arguments[0]) += page[512];
}

TEST_CASE("a stack of 160 KiB fits an instance", "[cpu]") {
  int sum = 0;
  VirtualWorld world(2, 2, 0);
  world.launch(hand_made(use_much_stack, 2), 8, same_argument(2, &sum));
  CHECK(sum == 16);
}

}  // namespace
}  // namespace tilewire

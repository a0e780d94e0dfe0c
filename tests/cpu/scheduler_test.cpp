#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/cpu/barrier.h"
#include "tests/catch.h"
#include "tests/cpu/hand_made.h"

namespace tilewire {
namespace {

/// (rank, program id, step) in the order of execution.
using Trace = std::vector<std::vector<std::int64_t>>;

void three_steps(CpuInstance* instance, const std::uint64_t* arguments) {
  auto& trace = *reinterpret_cast<Trace*>(arguments[0]);
  for (std::int64_t step = 0; step < 3; ++step) {
    trace.push_back({instance->rank, instance->program_id[0], step});
    cpu_barrier(*instance, CpuTeam::kLsa, static_cast<std::uint32_t>(step));
  }
}

Trace trace_of(int world_size, std::int64_t grid, std::uint64_t seed) {
  VirtualWorld world(world_size, world_size, seed);
  Trace trace;
  world.launch(hand_made(three_steps, world_size), grid, same_argument(world_size, &trace));
  return trace;
}

TEST_CASE("a barrier orders the instances of one program id", "[cpu]") {
  for (const int world_size : {1, 2, 3, 4, 8}) {
    for (const std::int64_t grid : {1, 3, 17}) {
      const Trace trace = trace_of(world_size, grid, 5);
      REQUIRE(trace.size() == static_cast<std::size_t>(world_size * grid * 3));
      for (std::int64_t program = 0; program < grid; ++program) {
        std::vector<std::int64_t> steps;
        for (const auto& event : trace) {
          if (event[1] == program) steps.push_back(event[2]);
        }
        CHECK(std::is_sorted(steps.begin(), steps.end()));
      }
    }
  }
}

TEST_CASE("a seed fixes the order, another seed gives another one", "[cpu]") {
  CHECK(trace_of(4, 8, 1) == trace_of(4, 8, 1));
  CHECK(trace_of(4, 8, 1) != trace_of(4, 8, 2));
  std::set<std::vector<std::int64_t>> first_events;
  for (std::uint64_t seed = 0; seed < 40; ++seed) first_events.insert(trace_of(2, 2, seed).front());
  CHECK(first_events.size() == 4);  // every instance comes first under some seed
}

TEST_CASE("barriers of LSA teams meet within the team only", "[cpu]") {
  VirtualWorld world(8, 4, 3);
  Trace trace;
  std::vector<RankLaunch> ranks(8);
  const CpuKernel kernel = hand_made(three_steps, 8, 4);
  for (int rank = 4; rank < 8; ++rank) {  // the other team launches nothing
    ranks[static_cast<std::size_t>(rank)] = {
        &kernel, {2, 1, 1}, {reinterpret_cast<std::uint64_t>(&trace)}};
  }
  world.launch(ranks);
  CHECK(trace.size() == 4 * 2 * 3);
}

TEST_CASE("phases carry over launches, and wrap around", "[cpu]") {
  VirtualWorld world(3, 3, 9);
  const CpuKernel kernel = hand_made(three_steps, 3);
  Trace trace;
  for (int launch = 0; launch < 2000; ++launch) {
    world.launch(kernel, 1 + launch % 4, same_argument(3, &trace));
  }
  CHECK(trace.size() == 3 * 3 * (1 + 2 + 3 + 4) * 500);

  CpuLane lane(2, 2);
  lane.cover(1);
  for (int rank = 0; rank < 2; ++rank) {
    lane.phase(CpuTeam::kLsa, rank, 0) = 0xFFFFFFFEU;
    std::fill_n(lane.inbox(CpuTeam::kLsa, rank, 0), 2, 0xFFFFFFFEU);
  }
  std::mt19937_64 random(1);
  FiberStackPool stacks;
  trace.clear();
  const CpuKernel pair = hand_made(three_steps, 2);
  Network network(random);
  Scheduler scheduler(2, 1, random, stacks, network);
  for (int rank = 0; rank < 2; ++rank) {
    scheduler.begin(rank, {&pair, {1, 1, 1}, {reinterpret_cast<std::uint64_t>(&trace)}}, lane);
  }
  scheduler.run();
  CHECK(trace.size() == 6);
  CHECK(lane.phase(CpuTeam::kLsa, 0, 0) == 1);
}

/// `count` has come to `goal`.
class Reached final : public WaitCondition {
 public:
  Reached(const int& count, int goal) : count_(count), goal_(goal) {}
  bool is_met() const override { return count_ >= goal_; }
  std::vector<AwaitedInstance> awaited() const override { return {{0, 0}}; }

 private:
  const int& count_;
  int goal_;
};

void count_or_wait_for_two(CpuInstance* instance, const std::uint64_t* arguments) {
  int& count = *reinterpret_cast<int*>(arguments[0]);
  Scheduler& scheduler = Scheduler::of(*instance);
  if (instance->rank == 0) {
    ++count;
    scheduler.notify(&count);
  } else {
    scheduler.wait(*instance, Reached(count, 2), &count, 1);
  }
}

TEST_CASE("a rank launches again while another one's launch is under way", "[cpu]") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    VirtualWorld world(2, 2, seed);
    const CpuKernel kernel = hand_made(count_or_wait_for_two, 2);
    int count = 0;
    const RankLaunch launch{&kernel, {1, 1, 1}, {reinterpret_cast<std::uint64_t>(&count)}};
    world.begin(1, launch);
    world.run_for_a_while();
    world.begin(0, launch);
    CHECK(world.run_until_one_ends() == 0);
    world.run_for_a_while();
    CHECK_THROWS_AS(world.begin(1, launch), InternalError);
    world.begin(0, launch);
    CHECK(world.run_until_one_ends() + world.run_until_one_ends() == 1);
  }
  VirtualWorld world(2, 2, 0);
  const CpuKernel kernel = hand_made(count_or_wait_for_two, 2);
  int count = 0;
  const RankLaunch launch{&kernel, {1, 1, 1}, {reinterpret_cast<std::uint64_t>(&count)}};
  world.begin(0, launch);
  CHECK(world.run_until_one_ends() == 0);
  world.begin(1, launch);
  CHECK_THROWS_WITH(world.run_until_one_ends(),
                    Catch::Matchers::Contains("for rank 0, which has finished"));
}

TEST_CASE("launches that are under way when their world ends are unwound", "[cpu]") {
  int count = 0;
  VirtualWorld world(2, 2, 0);
  const CpuKernel kernel = hand_made(count_or_wait_for_two, 2);
  world.begin(1, {&kernel, {3, 1, 1}, {reinterpret_cast<std::uint64_t>(&count)}});
  for (int i = 0; i < 10; ++i) world.run_for_a_while();
}

void many_accesses(CpuInstance* instance, const std::uint64_t* arguments) {
  auto& trace = *reinterpret_cast<Trace*>(arguments[0]);
  for (std::int64_t step = 0; step < 20; ++step) {
    Scheduler::of(*instance).pass_access(*instance);
    trace.push_back({instance->rank, instance->program_id[0], step});
  }
}

TEST_CASE("an instance is interrupted between accesses, under each seed at its own places",
          "[cpu]") {
  std::set<Trace> traces;
  std::set<int> switches;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Trace trace;
    for (int repeat = 0; repeat < 2; ++repeat) {
      const Trace before = std::exchange(trace, {});
      VirtualWorld world(2, 2, seed);
      world.launch(hand_made(many_accesses, 2), 1, same_argument(2, &trace));
      CHECK((repeat == 0 || trace == before));
    }
    REQUIRE(trace.size() == 40);
    int count = 0;
    for (std::size_t i = 1; i < trace.size(); ++i) count += trace[i][0] != trace[i - 1][0] ? 1 : 0;
    switches.insert(count);
    traces.insert(trace);
  }
  CHECK(traces.size() > 10);
  CHECK(*switches.begin() == 1);
  CHECK(*switches.rbegin() > 10);
}

struct Residency {
  std::int64_t now = 0;
  std::int64_t most = 0;
};

void count_residents(CpuInstance* instance, const std::uint64_t* arguments) {
  auto& residency = reinterpret_cast<Residency*>(arguments[0])[instance->rank];
  residency.most = std::max(residency.most, ++residency.now);
  cpu_barrier(*instance, CpuTeam::kLsa, 0);
  --residency.now;
}

TEST_CASE("no more instances of a rank are started than can be resident", "[cpu]") {
  std::vector<Residency> residency(1);
  VirtualWorld alone(1, 1, 4);
  alone.set_resident_limit(5);
  alone.launch(hand_made(count_residents, 1), 100, same_argument(1, residency.data()));
  CHECK(residency[0].most <= 5);
  CHECK(residency[0].most >= 3);

  // Two ranks start different halves of a grid that can't be resident at once.
  residency.assign(2, {});
  VirtualWorld world(2, 2, 4);
  world.set_resident_limit(2);
  CHECK_THROWS_WITH(
      world.launch(hand_made(count_residents, 2), 40, same_argument(2, residency.data())),
      Catch::Matchers::Contains("which isn't started: a rank runs 2 instances at once at most"));
  CHECK(residency[0].most == 2);
  CHECK_THROWS_AS(world.set_resident_limit(0), UserError);
}

TEST_CASE("a cooperative grid that can't be resident at once is refused", "[cpu]") {
  CpuKernel kernel = hand_made(count_residents, 1);
  Artifact artifact = kernel.artifact();
  artifact.launch.cooperative = true;
  std::vector<Residency> residency(1);
  VirtualWorld world(1, 1, 0);
  CHECK_THROWS_WITH(
      world.launch(CpuKernel(artifact, count_residents), 265, same_argument(1, residency.data())),
      "`hand_made`: its instances wait for each other, and 265 of them can't be "
      "resident at once; the largest grid that can is 264");
  world.launch(CpuKernel(artifact, count_residents), 264, same_argument(1, residency.data()));
  CHECK(residency[0].now == 0);
}

}  // namespace
}  // namespace tilewire

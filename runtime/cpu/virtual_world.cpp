#include "runtime/cpu/virtual_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/cpu/parallel_launch.h"

namespace tilewire {
namespace {

/// Of one rank in one launch, as on GPUs.
constexpr std::int64_t kMaxInstances = 2'147'483'647;

bool any_kernel(std::span<const RankLaunch> ranks, bool Resources::* need) {
  return std::any_of(ranks.begin(), ranks.end(), [need](const RankLaunch& launch) {
    return launch.kernel != nullptr && launch.kernel->artifact().resources.*need;
  });
}

void check_grid(const RankLaunch& launch, std::int64_t resident_limit) {
  const std::string& name = launch.kernel->artifact().kernel;
  if (std::any_of(launch.grid.begin(), launch.grid.end(), [](auto extent) { return extent < 1; })) {
    throw UserError(fmt::format("`{}`: a grid of {} × {} × {}; each extent is 1 or more", name,
                                launch.grid[0], launch.grid[1], launch.grid[2]));
  }
  std::int64_t rest = kMaxInstances;
  for (const std::int64_t extent : launch.grid) rest /= extent;
  if (rest == 0) {
    throw UserError(fmt::format("`{}`: a grid of {} × {} × {} has more than {} instances", name,
                                launch.grid[0], launch.grid[1], launch.grid[2], kMaxInstances));
  }
  const std::int64_t num_instances = launch.num_instances();
  if (launch.kernel->artifact().launch.cooperative && num_instances > resident_limit) {
    throw UserError(fmt::format(
        "`{}`: its instances wait for each other, and {} of them can't be resident at once; the "
        "largest grid that can is {}",
        name, num_instances, resident_limit));
  }
}

}  // namespace

VirtualWorld::VirtualWorld(int world_size, int lsa_size, std::uint64_t seed, bool multimem)
    : world_size_(world_size),
      lsa_size_(lsa_size),
      multimem_(multimem),
      random_(seed),
      network_(std::make_shared<Network>(random_)),
      scheduler_(world_size, resident_limit_, random_, stacks_, *network_) {
  if (world_size < 1 || lsa_size < 1 || world_size % lsa_size != 0) {
    throw UserError(
        fmt::format("a virtual world of {} ranks in LSA teams of {}; teams are equal and not empty",
                    world_size, lsa_size));
  }
  make_lane(0);
}

VirtualWorld::~VirtualWorld() { drain_network(); }

void VirtualWorld::make_lane(int number) {
  const std::lock_guard lock(turn_);
  lanes_.try_emplace(number, LaneState{CpuLane(world_size_, lsa_size_), {}});
}

void VirtualWorld::set_resident_limit(std::int64_t limit) {
  if (limit < 1) throw UserError(fmt::format("{} resident instances; at least 1 can run", limit));
  resident_limit_ = limit;
  scheduler_.set_resident_limit(limit);
}

std::shared_ptr<HostWindow> VirtualWorld::make_window(std::size_t num_bytes) const {
  const auto free = [network = std::weak_ptr(network_)](HostWindow* window) {
    const auto still_there = network.lock();
    for (int rank = 0; still_there != nullptr && rank < window->world_size(); ++rank) {
      still_there->forget(static_cast<std::byte*>(window->data(rank)), window->num_bytes());
    }
    delete window;
  };
  return {new HostWindow(world_size_, num_bytes), free};
}

void VirtualWorld::launch(const CpuKernel& kernel, std::int64_t grid,
                          std::span<const std::vector<std::uint64_t>> arguments_of_rank) {
  if (arguments_of_rank.size() != static_cast<std::size_t>(world_size_)) {
    throw UserError(fmt::format("`{}`: arguments of {} ranks in a world of {}",
                                kernel.artifact().kernel, arguments_of_rank.size(), world_size_));
  }
  std::vector<RankLaunch> ranks;
  for (const auto& arguments : arguments_of_rank) {
    ranks.push_back({&kernel, {grid, 1, 1}, arguments});
  }
  launch(ranks);
}

void VirtualWorld::launch(std::span<const RankLaunch> ranks) {
  const std::lock_guard lock(turn_);
  if (ranks.size() != static_cast<std::size_t>(world_size_)) {
    throw UserError(
        fmt::format("a launch on {} ranks in a world of {}", ranks.size(), world_size_));
  }
  for (const RankLaunch& launch : ranks) check(launch);
  if (!any_kernel(ranks, &Resources::waits) && !any_kernel(ranks, &Resources::network)) {
    return run_in_parallel(ranks, &scheduler_.is_ended());
  }
  for (int rank = 0; rank < world_size_; ++rank) {
    begin_checked(rank, ranks[static_cast<std::size_t>(rank)]);
  }
  run_or_end_lane([&] { scheduler_.run(); });
  taken_lanes_.clear();
}

void VirtualWorld::begin(int rank, const RankLaunch& launch) {
  const std::lock_guard lock(turn_);
  check(launch);
  begin_checked(rank, launch);
}

int VirtualWorld::run_until_one_ends() {
  const std::lock_guard lock(turn_);
  int rank = 0;
  run_or_end_lane([&] { rank = scheduler_.run_until_one_ends(); });
  taken_lanes_.erase(rank);
  return rank;
}

void VirtualWorld::run_for_a_while() {
  const std::lock_guard lock(turn_);
  run_or_end_lane([&] { scheduler_.run_for_a_while(); });
}

void VirtualWorld::drain_network() {
  const std::lock_guard lock(turn_);
  network_->drain([this](const void* key) { scheduler_.notify(key); });
}

void VirtualWorld::notify(const void* address) {
  const std::lock_guard lock(turn_);
  scheduler_.notify(address);
}

/// Slots are there for all grids that can be resident at once from the first launch on, so that no
/// address changes while launches are under way.
void VirtualWorld::begin_checked(int rank, const RankLaunch& launch) {
  CpuLane& lane = lanes_.at(launch.lane).lane;
  const bool waits = launch.kernel != nullptr && launch.kernel->artifact().resources.waits;
  lane.cover(std::max(resident_limit_, waits ? launch.num_instances() : 0));
  scheduler_.begin(rank, launch, lane);
  if (launch.kernel != nullptr && launch.kernel->artifact().resources.lane) {
    taken_lanes_[rank] = launch.lane;
  }
}

/// A launch that fails ends the lanes of all that are under way.
void VirtualWorld::run_or_end_lane(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    for (const auto& [rank, lane] : std::exchange(taken_lanes_, {})) {
      lanes_.at(lane).end = error.what();
    }
    throw;
  }
}

void VirtualWorld::check(const RankLaunch& launch) const {
  if (launch.kernel == nullptr) return;
  const Artifact& artifact = launch.kernel->artifact();
  if (artifact.target.world_size != world_size_ || artifact.target.lsa_size != lsa_size_) {
    throw UserError(fmt::format(
        "`{}` was compiled for {} ranks in LSA teams of {}; this world has {} in teams of {}",
        artifact.kernel, artifact.target.world_size, artifact.target.lsa_size, world_size_,
        lsa_size_));
  }
  if (artifact.resources.multimem && !multimem_) {
    throw UserError(
        fmt::format("`{}` uses multicast addresses, which this world doesn't have; make "
                    "it with multimem=True",
                    artifact.kernel));
  }
  if (launch.arguments.size() != artifact.arguments.size()) {
    throw UserError(fmt::format("`{}` takes {} argument slots, got {}", artifact.kernel,
                                artifact.arguments.size(), launch.arguments.size()));
  }
  check_grid(launch, resident_limit_);
  check_lane(launch);
}

void VirtualWorld::check_lane(const RankLaunch& launch) const {
  const Artifact& artifact = launch.kernel->artifact();
  const auto found = lanes_.find(launch.lane);
  if (found == lanes_.end()) {
    throw UserError(fmt::format("`{}`: there is no lane {}", artifact.kernel, launch.lane));
  }
  if (!artifact.resources.lane || found->second.end.empty()) return;
  throw UserError(
      fmt::format("`{}`: lane {} has ended, since a launch on it failed; make a new "
                  "world, or launch on another lane. That launch: {}",
                  artifact.kernel, launch.lane, found->second.end));
}

}  // namespace tilewire

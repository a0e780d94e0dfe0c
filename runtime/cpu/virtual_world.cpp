#include "runtime/cpu/virtual_world.h"

#include <fmt/format.h>

#include <algorithm>

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

VirtualWorld::VirtualWorld(int world_size, int lsa_size, std::uint64_t seed)
    : world_size_(world_size), lsa_size_(lsa_size), random_(seed), lane_(world_size, lsa_size) {
  if (world_size < 1 || lsa_size < 1 || world_size % lsa_size != 0) {
    throw UserError(
        fmt::format("a virtual world of {} ranks in LSA teams of {}; teams are equal and not empty",
                    world_size, lsa_size));
  }
}

void VirtualWorld::set_resident_limit(std::int64_t limit) {
  if (limit < 1) throw UserError(fmt::format("{} resident instances; at least 1 can run", limit));
  resident_limit_ = limit;
}

std::shared_ptr<HostWindow> VirtualWorld::make_window(std::size_t num_bytes) const {
  return std::make_shared<HostWindow>(world_size_, num_bytes);
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
  check(ranks);
  if (!any_kernel(ranks, &Resources::waits)) return run_in_parallel(ranks);
  try {
    run_fibers(ranks);
  } catch (const std::exception& error) {
    if (any_kernel(ranks, &Resources::lane)) lane_end_ = error.what();
    throw;
  }
}

void VirtualWorld::check(std::span<const RankLaunch> ranks) const {
  if (ranks.size() != static_cast<std::size_t>(world_size_)) {
    throw UserError(
        fmt::format("a launch on {} ranks in a world of {}", ranks.size(), world_size_));
  }
  for (const RankLaunch& launch : ranks) {
    if (launch.kernel == nullptr) continue;
    const Artifact& artifact = launch.kernel->artifact();
    if (artifact.target.world_size != world_size_ || artifact.target.lsa_size != lsa_size_) {
      throw UserError(fmt::format(
          "`{}` was compiled for {} ranks in LSA teams of {}; this world has {} in teams of {}",
          artifact.kernel, artifact.target.world_size, artifact.target.lsa_size, world_size_,
          lsa_size_));
    }
    if (launch.arguments.size() != artifact.arguments.size()) {
      throw UserError(fmt::format("`{}` takes {} argument slots, got {}", artifact.kernel,
                                  artifact.arguments.size(), launch.arguments.size()));
    }
    check_grid(launch, resident_limit_);
    check_lane(*launch.kernel);
  }
}

void VirtualWorld::check_lane(const CpuKernel& kernel) const {
  if (!kernel.artifact().resources.lane || lane_end_.empty()) return;
  throw UserError(fmt::format(
      "`{}`: the lane has ended, since a launch on it failed; make a new world. That launch: {}",
      kernel.artifact().kernel, lane_end_));
}

void VirtualWorld::run_fibers(std::span<const RankLaunch> ranks) {
  std::int64_t num_slots = 0;
  for (const RankLaunch& launch : ranks) num_slots = std::max(num_slots, launch.num_instances());
  lane_.cover(num_slots);
  Scheduler(ranks, resident_limit_, random_, stacks_, lane_).run();
}

}  // namespace tilewire

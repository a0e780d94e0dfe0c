#include "runtime/nccl/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/driver/watchdog.h"
#include "runtime/nccl/network_limits.h"

namespace tilewire {

Target target_of(const Device& device, int world_size, int lsa_size) {
  Target target;
  target.backend = Target::Backend::kCuda;
  target.architecture = device.architecture();
  target.compute_capability = device.compute_capability();
  target.world_size = world_size;
  target.lsa_size = lsa_size;
  return target;
}

GpuWorld::GpuWorld(const Device& device, int rank, Target target, std::size_t device_comm_bytes)
    : device_(device),
      rank_(rank),
      target_(std::move(target)),
      device_comm_bytes_(device_comm_bytes) {}

void GpuWorld::require_not_closed(std::string_view what) const {
  if (closed_) throw UserError(fmt::format("{}: the communicator is closed", what));
}

void GpuWorld::require_open(std::string_view what) const {
  require_not_closed(what);
  for (const auto& lane : lanes_) lane->check();
}

LaneGroup& GpuWorld::make_lane(int number, const LaneOptions& options, cuda::Stream stream) {
  require_open("comm.lane");
  const ContextGuard guard(device_);
  refuse_capture(stream, "making a lane (comm.lane)");
  const std::string call = fmt::format("comm.lane({}, {})", number, options.to_string());
  agree(call, 0);
  for (const auto& lane : lanes_) {
    if (lane->number != number) continue;
    if (lane->options == options) return *lane;
    throw UserError(
        fmt::format("{}: lane {} was made with {}; a lane keeps its options: ask for it with "
                    "these, or for another number",
                    call, number, lane->options.to_string()));
  }
  check_budgets(lanes_, number, options, num_sms_of_rank());
  lanes_.push_back(allocate_lane(number, options));
  return *lanes_.back();
}

void GpuWorld::set_first_lane(const LaneOptions& options) {
  agree(fmt::format("tw.init({})", options.to_string()), 0);
  check_budgets({}, 0, options, num_sms_of_rank());
  lanes_.at(0)->set_options(options);
}

LaneGroup& GpuWorld::lane(int number) const {
  for (const auto& lane : lanes_) {
    if (lane->number == number) return *lane;
  }
  require_not_closed("a lane");
  throw UserError(
      fmt::format("there is no lane {}: make it with comm.lane({}), on all ranks", number, number));
}

int GpuWorld::grid_limit(const GpuKernel& kernel, int lane_number) const {
  require_served(kernel.artifact(), target_, capabilities_);
  const bool waits = kernel.artifact().resources.waits;
  if (waits || kernel.takes_lane()) require_not_closed("launch");
  int limit = kernel.max_coresident_grid();
  if (waits) limit /= num_local_ranks();
  if (kernel.takes_lane()) {
    const LaneGroup& on = lane(lane_number);
    on.check();
    limit = std::min(limit, on.grid_limit());
    limit = network_grid_limit(kernel.artifact(), on.of_rank.front()->shape(), limit);
  }
  require_one_cluster(kernel.artifact(), limit);
  return whole_clusters(kernel.artifact(), limit);
}

void GpuWorld::reset_signals(std::uint64_t, std::uint64_t) {
  throw InternalError("a world without a network has no signals");
}

void GpuWorld::check() const {
  Watchdog::get().raise_if_hung();
  require_open("comm.check");
}

void GpuWorld::synchronize() const {
  device_.synchronize();
  for (const auto& lane : lanes_) lane->check();
}

void GpuWorld::abort() {
  for (const auto& lane : lanes_) lane->abort();
}

void GpuWorld::release_memory() {
  lanes_.clear();
  for (const auto& [number, window] : windows_) window->release();
  windows_.clear();
  for (const auto& [number, segment] : segments_) segment->release();
  segments_.clear();
}

void GpuWorld::abandon_memory() noexcept {
  // Freeing can block on work that never ends, and on a dead context: the process's end does it.
  for (auto& lane : lanes_) lane->abandon();
  for (const auto& [number, window] : windows_) window->abandon();
  for (const auto& [number, segment] : segments_) segment->abandon();
  lanes_.clear();
  windows_.clear();
  segments_.clear();
}

}  // namespace tilewire

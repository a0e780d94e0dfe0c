#include "runtime/nccl/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/nccl/agreement.h"
#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/nccl_window.h"
#include "runtime/nccl/signal_reset.h"
#include "runtime/nccl/virtual_window.h"

namespace tilewire {
namespace {

constexpr std::size_t kWindowGranularity = 4096;

LaneShape lane_shape(const Device& device, int lsa_size, const LaneNetwork& network) {
  return LaneShape::of(device.num_sms(), device.max_ctas_per_sm(), lsa_size, network);
}

}  // namespace

void Communicator::make_first_lane() {
  lanes_.push_back(allocate_lane(0, {}));
  if (world_size() == 1) return;
  const LaneGroup& lane = *lanes_[0];
  exchange_->count_arrivals(std::make_unique<Arrivals>(
      device_, *lane.window, lane_shape(device_, lsa_size(), lane_network()).num_bytes, rank_,
      world_size()));
}

std::unique_ptr<LaneGroup> Communicator::allocate_lane(int number, const LaneOptions& options) {
  const LaneShape shape = lane_shape(device_, lsa_size(), lane_network());
  const std::uint64_t first_signal =
      take_signals(shape.num_signals, fmt::format("comm.lane({})", number));
  // Lane 0's has room for the host's collective calls as well.
  const std::size_t num_bytes =
      shape.num_bytes + (number == 0 ? Arrivals::num_bytes(world_size()) : 0);
  auto group = std::make_unique<LaneGroup>();
  group->number = number;
  group->options = options;
  group->window = allocate(num_bytes);
  const device::WindowHandle handle = group->window->handle();
  check_cuda(cuda::api().fill_bytes(reinterpret_cast<cuda::DevicePointer>(handle.local), 0,
                                    num_bytes, exchange_->stream()),
             "cuMemsetD8Async");
  check_cuda(cuda::api().stream_synchronize(exchange_->stream()), "cuStreamSynchronize");
  group->of_rank.push_back(
      std::make_unique<Lane>(device_, Lane::Setup{.number = number,
                                                  .rank = rank_,
                                                  .window = handle,
                                                  .place = group->window->place(),
                                                  .shape = shape,
                                                  .first_signal = first_signal,
                                                  .device_comm = device_comm_,
                                                  .exclusive = options.exclusive}));
  // Nobody signals before everybody's inboxes are clear.
  exchange_->all_gather(RankValue{}, "the creation of a lane");
  return group;
}

std::unique_ptr<Window> Communicator::allocate(std::size_t num_bytes) {
  const std::size_t rounded =
      (num_bytes + kWindowGranularity - 1) / kWindowGranularity * kWindowGranularity;
  std::unique_ptr<NcclMemory> memory;
  std::string problem;
  try {
    memory = std::make_unique<NcclMemory>(device_, rounded);
  } catch (const BackendError& error) {
    problem = error.message();
  }
  // One rank without memory must not leave the others waiting in the registration.
  const int all_have_it = agree_minimum("making a window", 0, memory == nullptr ? 0 : 1);
  if (!problem.empty()) throw BackendError(problem);
  if (all_have_it == 0) {
    throw BackendError(
        fmt::format("a window of {} bytes: another rank's GPU has no room for it", num_bytes));
  }
  std::unique_ptr<Window> window =
      NcclWindow::make(device_, comm_, rank_, std::move(*memory), rounded, exchange_->stream());
  if (window != nullptr) return window;
  // NCCL needn't serve a world of one: its memory is nobody else's.
  if (world_size() == 1) return VirtualWindow::make(device_, rounded, 1);
  throw BackendError(fmt::format(
      "NCCL {} ({}): ncclCommWindowRegister gave no window: symmetric memory needs CUDA's "
      "peer-to-peer access between the GPUs, and NCCL_CUMEM_ENABLE and NCCL_WIN_ENABLE not set to "
      "0. `tilewire doctor` shows the links",
      nccl::api().version.to_string(), nccl::api().path));
}

std::vector<GpuWorld::Allocation> Communicator::exchange(std::string_view call,
                                                         const Allocation& own) {
  return exchange_->all_gather(own, call);
}

void Communicator::agree(std::string_view what, std::uint64_t value) {
  const RankValue own{.agreement = std::hash<std::string_view>()(what),
                      .value = static_cast<std::int64_t>(value)};
  require_equal(what, exchange_->all_gather(own, what));
}

int Communicator::agree_minimum(std::string_view what, std::uint64_t agreement, int value) {
  require_open(what);
  const RankValue own{.agreement = agreement, .value = value};
  return static_cast<int>(minimum_of(what, exchange_->all_gather(own, what)));
}

void Communicator::launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
                          const ArgumentValue* values, LaneGroup* lane) {
  if (closed_) [[unlikely]]
    require_open("launch");
  if (lane != nullptr) {
    lane->of_rank[0]->launch(kernel, grid, stream, values);
  } else {
    const device::Lane place = Lane::place_of(rank_, lsa_size());
    kernel.launch(grid, stream, values,
                  {.device_comm = device_comm_.data(), .lane = &place, .lsa_rank = place.lsa_rank});
  }
}

void Communicator::reset_signals(std::uint64_t first, std::uint64_t count) {
  tilewire::reset_signals(device_, target_, device_comm_, num_gin_contexts_, first, count,
                          exchange_->stream());
}

void Communicator::barrier() {
  require_open("comm.barrier");
  synchronize();
  exchange_->all_gather(RankValue{}, "comm.barrier");
}

bool Communicator::has_hung() const {
  return exchange_->is_broken() ||
         std::ranges::any_of(lanes_, [](const auto& lane) { return lane->has_hung(); });
}

void Communicator::close() {
  if (closed_) return;
  if (has_hung()) {
    abandon();
    return;
  }
  const bool aborted =
      std::ranges::any_of(lanes_, [](const auto& lane) { return lane->is_stopped(); });
  try {
    if (aborted) {
      device_.synchronize();  // the waiting kernels leave
    } else {
      barrier();  // no rank's kernel still reads a peer's memory
    }
  } catch (...) {
    abandon();
    throw;
  }
  closed_ = true;
  const ContextGuard guard(device_);
  release_memory();
  if (has_nccl_device_comm_) nccl::api().dev_comm_destroy(comm_, device_comm_.data());
  exchange_.reset();
  if (!owned_) return;
  if (aborted) {
    nccl::api().comm_abort(comm_);  // the others may be gone
  } else {
    nccl::api().comm_destroy(comm_);
  }
}

void Communicator::abandon() noexcept {
  closed_ = true;
  abandon_memory();
  static_cast<void>(exchange_.release());
}

Communicator::~Communicator() {
  if (!closed_) abandon();
}

}  // namespace tilewire

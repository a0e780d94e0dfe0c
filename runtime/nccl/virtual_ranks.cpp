#include "runtime/nccl/virtual_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/virtual_window.h"

namespace tilewire {

std::shared_ptr<VirtualRanks> VirtualRanks::create(int world_size, int device_ordinal) {
  if (world_size < 1 || world_size > kMaxRanks) {
    throw UserError(
        fmt::format("a virtual world of {} ranks on one GPU: it holds 1 to {}; the CPU target has "
                    "no such limit",
                    world_size, kMaxRanks));
  }
  const Device& device = Device::get(device_ordinal);
  Target target;
  target.backend = Target::Backend::kCuda;
  target.architecture = device.architecture();
  target.compute_capability = device.compute_capability();
  target.world_size = world_size;
  target.lsa_size = world_size;
  std::shared_ptr<VirtualRanks> ranks(new VirtualRanks(device, std::move(target)));
  ranks->make_lanes();
  return ranks;
}

VirtualRanks::VirtualRanks(const Device& device, Target target)
    : GpuWorld(device, 0, std::move(target), device_layout().device_comm_bytes),
      all_ranks_(world_size()),
      start_(std::make_unique<OwnedEvent>(device)) {
  std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
  present_ranks_ = all_ranks_;
  for (const int rank : all_ranks_) {
    streams_.push_back(std::make_unique<OwnedStream>(device));
    done_.push_back(std::make_unique<OwnedEvent>(device));
    device_comms_.push_back(make_device_comm(device_layout(), rank, world_size()));
  }
}

void VirtualRanks::make_lanes() {
  const LaneShape shape = LaneShape::of(device_.num_sms(), device_.max_ctas_per_sm(), world_size());
  lane_window_ = allocate(shape.num_bytes);
  const ContextGuard guard(device_);
  for (const int rank : all_ranks_) {
    const device::WindowHandle& handle = lane_window_->handle(rank);
    check_cuda(cuda::api().fill_bytes(reinterpret_cast<cuda::DevicePointer>(handle.local), 0,
                                      shape.num_bytes, streams_[rank]->get()),
               "cuMemsetD8Async");
    lanes_.push_back(std::make_unique<Lane>(device_, Lane::Setup{.rank = rank,
                                                                 .window = handle,
                                                                 .shape = shape,
                                                                 .device_comm = device_comms_[rank],
                                                                 .exclusive = true}));
  }
  for (const auto& stream : streams_) stream->synchronize();
}

std::unique_ptr<Window> VirtualRanks::allocate(std::size_t num_bytes) {
  return VirtualWindow::make(device_, num_bytes, world_size());
}

// One caller speaks for all ranks: they agree.
void VirtualRanks::agree_on_window(std::string_view, std::uint64_t) {}

int VirtualRanks::agree_minimum(std::string_view, std::uint64_t, int value) { return value; }

void VirtualRanks::launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
                          const ArgumentValue* values) {
  launch_on(present_ranks_, kernel, grid, stream, values);
}

void VirtualRanks::leave_out(const std::vector<int>& ranks) {
  std::erase_if(present_ranks_, [&](int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  });
}

void VirtualRanks::launch_on(const std::vector<int>& ranks, const GpuKernel& kernel, int grid,
                             cuda::Stream stream, const ArgumentValue* values) {
  if (closed_) require_open("launch");
  const ContextGuard guard(device_);
  const cuda::Api& api = cuda::api();
  check_cuda(api.event_record(start_->get(), stream), "cuEventRecord");
  for (const int rank : ranks) {
    const cuda::Stream own = streams_.at(rank)->get();
    check_cuda(api.stream_wait_event(own, start_->get(), 0), "cuStreamWaitEvent");
    launch_rank(rank, kernel, grid, values + rank * kernel.layout().slots.size());
    check_cuda(api.event_record(done_[rank]->get(), own), "cuEventRecord");
  }
  // Behind all launches: the legacy stream would otherwise hold back later ranks.
  for (const int rank : ranks) {
    check_cuda(api.stream_wait_event(stream, done_[rank]->get(), 0), "cuStreamWaitEvent");
  }
}

void VirtualRanks::launch_rank(int rank, const GpuKernel& kernel, int grid,
                               const ArgumentValue* values) {
  const cuda::Stream stream = streams_[rank]->get();
  if (kernel.takes_lane()) {
    lanes_[rank]->launch(kernel, grid, stream, values);
    return;
  }
  kernel.launch(grid, stream, values,
                {.device_comm = device_comms_[rank].data(), .lane = nullptr, .exclusive = true});
}

void VirtualRanks::barrier() {
  require_open("comm.barrier");
  synchronize();
}

void VirtualRanks::close() {
  if (closed_) return;
  for (const auto& lane : lanes_) {
    if (!lane->has_hung()) continue;
    abandon();
    return;
  }
  try {
    device_.synchronize();
  } catch (...) {
    abandon();
    throw;
  }
  closed_ = true;
  release_memory();
  lane_window_.reset();
}

void VirtualRanks::abandon() noexcept {
  closed_ = true;
  abandon_memory();
  for (auto& stream : streams_) static_cast<void>(stream.release());
  for (auto& event : done_) static_cast<void>(event.release());
  static_cast<void>(start_.release());
  static_cast<void>(lane_window_.release());
  streams_.clear();
  done_.clear();
}

VirtualRanks::~VirtualRanks() {
  if (closed_) return;
  try {
    close();
  } catch (const Error&) {  // reported where the wait gave up; close has abandoned all
  }
}

}  // namespace tilewire

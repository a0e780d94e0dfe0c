#include "runtime/nccl/virtual_ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/probe_rank.h"
#include "runtime/nccl/signal_reset.h"
#include "runtime/nccl/virtual_window.h"

namespace tilewire {

std::shared_ptr<VirtualRanks> VirtualRanks::create(int world_size, int device_ordinal,
                                                   int lsa_size) {
  if (world_size < 1 || world_size > kMaxRanks) {
    throw UserError(
        fmt::format("a virtual world of {} ranks on one GPU: it holds 1 to {}; the CPU target has "
                    "no such limit",
                    world_size, kMaxRanks));
  }
  if (lsa_size == 0) lsa_size = world_size;
  if (lsa_size < 1 || world_size % lsa_size != 0) {
    throw UserError(
        fmt::format("a virtual world of {} ranks has no teams of {}", world_size, lsa_size));
  }
  const Device& device = Device::get(device_ordinal);
  Target target = target_of(device, world_size, lsa_size);
  target.gin = target.has_virtual_gin = lsa_size < world_size;
  std::shared_ptr<VirtualRanks> ranks(new VirtualRanks(device, std::move(target)));
  ranks->lanes_.push_back(ranks->allocate_lane(0, {}));
  return ranks;
}

namespace {

/// One GPU has no multicast over several.
Capabilities capabilities_of(const Device& device, const Target& target, int num_gin_contexts) {
  RankCapabilities found;
  describe_device(device, found);
  found.lsa_size = target.lsa_size;
  found.num_gin_contexts = num_gin_contexts;
  found.nccl_version = device_layout().version.to_code();
  found[Feature::kMultimem] = {Ground::kOneGpu};
  found[Feature::kNetwork] = {target.gin ? Ground::kHas : Ground::kNotNeeded};
  found[Feature::kGraphs] = probe_graphs(device);
  std::vector<RankCapabilities> of_rank(static_cast<std::size_t>(target.world_size), found);
  for (int rank = 0; rank < target.world_size; ++rank) {
    of_rank[static_cast<std::size_t>(rank)].first_of_team =
        rank / target.lsa_size * target.lsa_size;
  }
  return Capabilities(std::move(of_rank));
}

std::size_t comm_bytes_of(const Target& target) {
  return target.gin ? VirtualNetwork::device_comm_bytes() : device_layout().device_comm_bytes;
}

}  // namespace

VirtualRanks::VirtualRanks(const Device& device, Target target)
    : GpuWorld(device, 0, target, comm_bytes_of(target)), all_ranks_(world_size()) {
  std::iota(all_ranks_.begin(), all_ranks_.end(), 0);
  present_ranks_ = all_ranks_;
  if (target_.gin) {
    num_gin_contexts_ = Environment::get().gin_contexts;
    num_gin_signals_ = Environment::get().gin_signals;
    signals_ = SignalPool(static_cast<std::uint64_t>(num_gin_signals_));
    network_ =
        std::make_unique<VirtualNetwork>(device, world_size(), num_gin_contexts_, num_gin_signals_);
  }
  for (const int rank : all_ranks_) {
    device_comms_.push_back(network_ ? network_->device_comm(rank)
                                     : make_device_comm(device_layout(), rank, world_size()));
  }
  capabilities_ = capabilities_of(device, target_, num_gin_contexts_);
}

VirtualRanks::RankStreams::RankStreams(const Device& device, int num_ranks)
    : start(std::make_unique<OwnedEvent>(device)) {
  for (int rank = 0; rank < num_ranks; ++rank) {
    streams.push_back(std::make_unique<OwnedStream>(device));
    done.push_back(std::make_unique<OwnedEvent>(device));
  }
}

void VirtualRanks::RankStreams::abandon() noexcept {
  for (auto& stream : streams) static_cast<void>(stream.release());
  for (auto& event : done) static_cast<void>(event.release());
  static_cast<void>(start.release());
  streams.clear();
  done.clear();
}

std::unique_ptr<LaneGroup> VirtualRanks::allocate_lane(int number, const LaneOptions& options) {
  const int num_streams = static_cast<int>(lanes_.size() + 1) * world_size();
  if (num_streams > kMaxRanks) {
    throw UserError(
        fmt::format("comm.lane({}): {} virtual ranks on one GPU with {} lanes need {} streams; it "
                    "has {} at once",
                    number, world_size(), lanes_.size() + 1, num_streams, kMaxRanks));
  }
  const LaneShape shape =
      LaneShape::of(device_.num_sms(), device_.max_ctas_per_sm(), lsa_size(), lane_network());
  const std::uint64_t first_signal =
      take_signals(shape.num_signals, fmt::format("comm.lane({})", number));
  auto streams = std::make_unique<RankStreams>(device_, world_size());
  auto group = std::make_unique<LaneGroup>();
  group->number = number;
  group->options = options;
  group->window = allocate(shape.num_bytes);
  const ContextGuard guard(device_);
  for (const int rank : all_ranks_) {
    const device::WindowHandle& handle = group->window->handle(rank);
    check_cuda(cuda::api().fill_bytes(reinterpret_cast<cuda::DevicePointer>(handle.local), 0,
                                      shape.num_bytes, streams->streams[rank]->get()),
               "cuMemsetD8Async");
    Window::Place place = group->window->place();
    place.first_rank = rank / lsa_size() * lsa_size();
    place.flat_base += place.stride * static_cast<std::uint64_t>(place.first_rank);
    place.lsa_size = lsa_size();
    group->of_rank.push_back(
        std::make_unique<Lane>(device_, Lane::Setup{.number = number,
                                                    .rank = rank,
                                                    .window = handle,
                                                    .place = place,
                                                    .shape = shape,
                                                    .first_signal = first_signal,
                                                    .device_comm = device_comms_[rank],
                                                    .exclusive = true}));
  }
  for (const auto& stream : streams->streams) stream->synchronize();
  streams_.push_back(std::move(streams));
  return group;
}

std::unique_ptr<Window> VirtualRanks::allocate(std::size_t num_bytes) {
  return VirtualWindow::make(device_, num_bytes, world_size(), network_ != nullptr);
}

std::vector<GpuWorld::Allocation> VirtualRanks::exchange(std::string_view, const Allocation& own) {
  if (own.dropped != WindowPool::DroppedBits{}) deliver();
  return {own};
}

/// Signals are reset behind all that was asked for. Number 0 is no object's (`SignalPool`).
void VirtualRanks::deliver() {
  if (!network_) return;
  const OwnedStream stream(device_);
  tilewire::reset_signals(device_, target_, device_comms_[0], num_gin_contexts_, 0, 1,
                          stream.get());
}

void VirtualRanks::reset_signals(std::uint64_t first, std::uint64_t count) {
  const OwnedStream stream(device_);
  for (const int rank : all_ranks_) {
    tilewire::reset_signals(device_, target_, device_comms_[rank], num_gin_contexts_, first, count,
                            stream.get());
  }
}

// One caller speaks for all ranks: they agree.
void VirtualRanks::agree(std::string_view, std::uint64_t) {}

int VirtualRanks::agree_minimum(std::string_view, std::uint64_t, int value) { return value; }

void VirtualRanks::launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
                          const ArgumentValue* values, LaneGroup* lane) {
  launch_on(present_ranks_, kernel, grid, stream, values, lane);
}

VirtualRanks::RankStreams& VirtualRanks::streams_of(const LaneGroup* lane) {
  for (std::size_t i = 0; lane != nullptr && i < lanes_.size(); ++i) {
    if (lanes_[i].get() == lane) return *streams_[i];
  }
  return *streams_[0];
}

void VirtualRanks::leave_out(const std::vector<int>& ranks) {
  std::erase_if(present_ranks_, [&](int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
  });
}

void VirtualRanks::launch_on(const std::vector<int>& ranks, const GpuKernel& kernel, int grid,
                             cuda::Stream stream, const ArgumentValue* values, LaneGroup* lane) {
  if (closed_) require_open("launch");
  if (lane == nullptr && kernel.takes_lane()) lane = &this->lane(0);
  const ContextGuard guard(device_);
  const cuda::Api& api = cuda::api();
  RankStreams& on = streams_of(lane);
  check_cuda(api.event_record(on.start->get(), stream), "cuEventRecord");
  for (const int rank : ranks) {
    const cuda::Stream own = on.streams.at(rank)->get();
    check_cuda(api.stream_wait_event(own, on.start->get(), 0), "cuStreamWaitEvent");
    launch_rank(rank, kernel, grid, values + rank * kernel.layout().slots.size(), lane, own);
    check_cuda(api.event_record(on.done[rank]->get(), own), "cuEventRecord");
  }
  // Behind all launches: the legacy stream would otherwise hold back later ranks.
  for (const int rank : ranks) {
    check_cuda(api.stream_wait_event(stream, on.done[rank]->get(), 0), "cuStreamWaitEvent");
  }
}

void VirtualRanks::launch_rank(int rank, const GpuKernel& kernel, int grid,
                               const ArgumentValue* values, LaneGroup* lane, cuda::Stream stream) {
  if (lane == nullptr) {
    const device::Lane place = Lane::place_of(rank, lsa_size());
    kernel.launch(grid, stream, values,
                  {.device_comm = device_comms_[rank].data(),
                   .lane = &place,
                   .exclusive = true,
                   .lsa_rank = place.lsa_rank});
    return;
  }
  try {
    lane->of_rank[rank]->launch(kernel, grid, stream, values);
  } catch (const Error& error) {
    lane->end(error.message());  // ranks that were launched before wait for this one
    throw;
  }
}

void VirtualRanks::barrier() {
  require_open("comm.barrier");
  synchronize();
  deliver();
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
}

void VirtualRanks::abandon() noexcept {
  closed_ = true;
  abandon_memory();
  for (auto& each : streams_) each->abandon();
  streams_.clear();
  if (network_) network_->abandon();
}

VirtualRanks::~VirtualRanks() {
  if (closed_) return;
  try {
    close();
  } catch (const Error&) {  // reported where the wait gave up; close has abandoned all
  }
}

}  // namespace tilewire

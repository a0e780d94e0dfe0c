// Windows of a world: the pool that they come from, and how ranks agree on it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/nccl/world.h"

namespace tilewire {

std::shared_ptr<Window> GpuWorld::window(std::size_t num_bytes, cuda::Stream stream,
                                         std::string_view call, std::uint64_t num_signals) {
  require_open("comm.window");
  const ContextGuard guard(device_);
  if (num_bytes == 0) throw UserError("comm.window: a window must have at least one element");
  refuse_capture(stream, fmt::format("making symmetric memory ({})", call));
  agree_on_allocation(call, num_bytes);
  std::optional<int> number = pool_.take(num_bytes);
  if (!number) {
    add_segment(WindowPool::segment_bytes(num_bytes), false);
    number = pool_.take(num_bytes);
  }
  std::uint64_t first_signal = 0;
  try {
    first_signal = take_signals(num_signals, call);
  } catch (const Error&) {
    pool_.free(*number);
    throw;
  }
  const WindowPool::Place& place = pool_.place(*number);
  windows_[*number] =
      std::make_shared<Window>(*segments_.at(place.segment), place.offset, num_bytes, first_signal);
  return share(*number);
}

/// What the caller holds: with its last copy, this rank has let go of the window.
std::shared_ptr<Window> GpuWorld::share(int number) {
  struct Share {
    std::shared_ptr<GpuWorld> world;
    std::shared_ptr<Window> window;
    int number;
    ~Share() {
      if (!window->is_released()) world->pool_.drop(number);
    }
  };
  const std::shared_ptr<Share> share(new Share{shared_from_this(), windows_.at(number), number});
  return {share, share->window.get()};
}

void GpuWorld::fill(const Window& window, std::string_view image) {
  require_open("making an object");
  {
    const ContextGuard guard(device_);
    const OutsideCapture outside;
    const OwnedStream stream(device_);
    for (int rank = 0; rank < num_local_ranks(); ++rank) {
      const auto address = reinterpret_cast<cuda::DevicePointer>(window.handle(rank).local);
      check_cuda(cuda::api().fill_bytes(address, 0, window.num_bytes(), stream.get()),
                 "cuMemsetD8Async");
      if (image.empty()) continue;
      check_cuda(cuda::api().copy_to_device(address, image.data(), image.size(), stream.get()),
                 "cuMemcpyHtoDAsync");
    }
    stream.synchronize();
  }
  barrier();
}

/// Also gives back what all ranks have dropped. What was launched on it must be over before another
/// rank may be told.
void GpuWorld::agree_on_allocation(std::string_view call, std::size_t num_bytes) {
  Allocation own{.num_bytes = num_bytes, .digest = pool_.digest(), .dropped = pool_.dropped()};
  if (own.dropped != WindowPool::DroppedBits{}) synchronize();
  const std::vector<Allocation> all = exchange(call, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].num_bytes != all[0].num_bytes) {
      throw UserError(
          fmt::format("{}: ranks ask for different sizes: {} bytes on rank 0 and {} on rank {}",
                      call, all[0].num_bytes, all[rank].num_bytes, rank));
    }
    if (all[rank].digest != all[0].digest) {
      throw InternalError(
          fmt::format("{}: windows lie at other offsets on rank {} than on rank 0", call, rank));
    }
    for (std::size_t i = 0; i < own.dropped.size(); ++i) own.dropped[i] &= all[rank].dropped[i];
  }
  for (const int window : pool_.free_dropped(own.dropped)) release_window(window);
}

void GpuWorld::add_segment(std::size_t num_bytes, bool reserved) {
  std::unique_ptr<Window> memory;
  try {
    memory = allocate(num_bytes);
  } catch (const BackendError&) {
    if (pool_.empty_segments().empty()) throw;
    remove_empty_segments();
    memory = allocate(num_bytes);
  }
  segments_[pool_.add_segment(num_bytes, reserved)] = std::move(memory);
}

/// Nobody uses them: their windows were freed with all ranks' GPUs idle.
void GpuWorld::remove_empty_segments() {
  for (const int number : pool_.empty_segments()) {
    segments_.at(number)->release();
    segments_.erase(number);
    pool_.remove_segment(number);
  }
}

void GpuWorld::reserve(std::size_t num_bytes, cuda::Stream stream) {
  const std::string call = fmt::format("comm.reserve({})", num_bytes);
  require_open(call);
  const ContextGuard guard(device_);
  refuse_capture(stream, fmt::format("reserving memory ({})", call));
  agree_on_allocation(call, num_bytes);
  add_segment(WindowPool::segment_bytes(num_bytes), true);
}

void GpuWorld::trim(cuda::Stream stream) {
  require_open("comm.trim");
  const ContextGuard guard(device_);
  refuse_capture(stream, "giving memory back (comm.trim)");
  agree_on_allocation("comm.trim()", 0);
  remove_empty_segments();
}

void GpuWorld::free(const Window& window) {
  require_open("comm.free");
  const auto found = std::ranges::find_if(
      windows_, [&](const auto& owned) { return owned.second.get() == &window; });
  if (found == windows_.end()) {
    throw UserError("comm.free: this communicator has no such window (freed before?)");
  }
  agree("comm.free: the window's number", found->first);
  synchronize();
  barrier();  // no rank's kernel still reads a peer's copy
  found->second->release();
  pool_.free(found->first);
  release_window(found->first);
}

/// Its place is free already.
void GpuWorld::release_window(int number) {
  const auto found = windows_.find(number);
  if (found == windows_.end()) return;
  signals_.give_back(found->second->handle().first_signal);
  windows_.erase(found);
}

std::uint64_t GpuWorld::take_signals(std::uint64_t count, std::string_view call) {
  if (num_gin_signals_ == 0 || count == 0) return 0;
  const std::uint64_t first = signals_.take(count, call);
  if (signals_.was_used(first)) reset_signals(first, count);
  signals_.note_used(first);
  return first;
}

}  // namespace tilewire

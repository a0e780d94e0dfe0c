#include "runtime/driver/launch_counters.h"

#include <algorithm>
#include <functional>
#include <thread>

namespace tilewire {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::size_t kLineBytes = 128;  // launches don't share lines of the cache
// The handle that names another stream in each thread.
constexpr std::uintptr_t kPerThreadStream = 2;

/// What tells streams apart. A handle may be used again after its stream was destroyed, a number
/// not; drivers before CUDA 12 have only handles.
std::uint64_t key_of(cuda::Stream stream) {
  unsigned long long id = 0;
  const cuda::Api& api = cuda::api();
  if (api.stream_id != nullptr && api.stream_id(stream, &id) == cuda::kSuccess) return id;
  const auto handle = reinterpret_cast<std::uintptr_t>(stream);
  if (handle != kPerThreadStream) return handle;
  return std::hash<std::thread::id>()(std::this_thread::get_id()) | 1;
}

}  // namespace

LaunchCounters::LaunchCounters(const Device& device, int num_words)
    : device_(device),
      bytes_per_launch_((static_cast<std::size_t>(num_words) * 8 + kLineBytes - 1) / kLineBytes *
                        kLineBytes) {
  of(nullptr);  // so that the first launch, which may be captured, has no need to allocate
}

cuda::DevicePointer LaunchCounters::of(cuda::Stream stream) {
  const ContextGuard guard(device_);
  const bool is_captured = capture_of(stream).active;
  const std::lock_guard lock(mutex_);
  if (is_captured) return take();
  cuda::DevicePointer& place = by_stream_[key_of(stream)];
  if (place == 0) place = take();
  return place;
}

cuda::DevicePointer LaunchCounters::take() {
  if (chunks_.empty() || used_bytes_ + bytes_per_launch_ > kChunkBytes) {
    auto chunk = std::make_unique<DeviceMemory>(device_, std::max(kChunkBytes, bytes_per_launch_));
    chunk->clear();
    chunks_.push_back(std::move(chunk));
    used_bytes_ = 0;
  }
  const cuda::DevicePointer place = chunks_.back()->address() + used_bytes_;
  used_bytes_ += bytes_per_launch_;
  return place;
}

}  // namespace tilewire

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

/// What so many words take, in whole lines.
std::size_t bytes_of(std::int64_t num_words) {
  const auto num_bytes = static_cast<std::size_t>(std::max<std::int64_t>(num_words, 1)) * 8;
  return (num_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

LaunchCounters::LaunchCounters(const Device& device) : device_(device) {
  of(nullptr, 1);  // so that the first launch, which may be captured, has no need to allocate
}

cuda::DevicePointer LaunchCounters::of(cuda::Stream stream, std::int64_t num_words) {
  const ContextGuard guard(device_);
  const bool is_captured = capture_of(stream).active;
  const std::size_t num_bytes = bytes_of(num_words);
  const std::lock_guard lock(mutex_);
  if (is_captured) return take(num_bytes);
  Place& place = by_stream_[key_of(stream)];
  if (place.num_bytes < num_bytes) {
    const std::size_t wanted = std::max(num_bytes, 2 * place.num_bytes);
    place = {take(wanted), wanted};
  }
  return place.address;
}

/// Zeros.
cuda::DevicePointer LaunchCounters::take(std::size_t num_bytes) {
  if (chunks_.empty() || used_bytes_ + num_bytes > chunk_bytes_) {
    auto chunk = std::make_unique<DeviceMemory>(device_, std::max(kChunkBytes, num_bytes));
    chunk->clear();
    chunks_.push_back(std::move(chunk));
    chunk_bytes_ = std::max(kChunkBytes, num_bytes);
    used_bytes_ = 0;
  }
  const cuda::DevicePointer place = chunks_.back()->address() + used_bytes_;
  used_bytes_ += num_bytes;
  return place;
}

}  // namespace tilewire

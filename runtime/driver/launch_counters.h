#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/driver/memory.h"

namespace tilewire {

/// Device memory for `ArgumentSlot::Kind::kCounters`: 0 when a launch starts. A kernel leaves it 0,
/// so that launches of one stream, which never overlap, share one place. A launch that is captured
/// gets a place of its own, for good: its graph may be replayed beside anything.
class LaunchCounters {
 public:
  /// For launches that use `num_words` 64-bit words each.
  LaunchCounters(const Device& device, int num_words);

  /// Where the words of the next launch on `stream` are. Any thread may ask.
  cuda::DevicePointer of(cuda::Stream stream);

 private:
  cuda::DevicePointer take();

  const Device& device_;
  std::size_t bytes_per_launch_;
  std::mutex mutex_;
  std::map<std::uint64_t, cuda::DevicePointer> by_stream_;
  std::vector<std::unique_ptr<DeviceMemory>> chunks_;
  std::size_t used_bytes_ = 0;  ///< of the last chunk
};

}  // namespace tilewire

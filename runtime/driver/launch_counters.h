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
  explicit LaunchCounters(const Device& device);

  /// Where the words of the next launch on `stream` are, `num_words` of 64 bits. A stream whose
  /// launch needs more than its last ones gets another place, twice as large; the old one stays,
  /// for launches that are under way. Any thread may ask.
  cuda::DevicePointer of(cuda::Stream stream, std::int64_t num_words);

 private:
  struct Place {
    cuda::DevicePointer address = 0;
    std::size_t num_bytes = 0;
  };
  cuda::DevicePointer take(std::size_t num_bytes);

  const Device& device_;
  std::mutex mutex_;
  std::map<std::uint64_t, Place> by_stream_;
  std::vector<std::unique_ptr<DeviceMemory>> chunks_;
  std::size_t chunk_bytes_ = 0;  ///< of the last chunk
  std::size_t used_bytes_ = 0;   ///< there
};

}  // namespace tilewire

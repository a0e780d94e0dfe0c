#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/driver/memory.h"
#include "runtime/nccl/window.h"

namespace tilewire {

/// Who has come to a collective call of the host, for messages: in a window, each rank keeps a word
/// per rank, where that rank writes how many calls it has come to. Where it fails, it knows
/// nothing.
class Arrivals {
 public:
  /// The words lie at `offset` in `window`, which must outlive all calls, and are zero on all
  /// ranks.
  Arrivals(const Device& device, const Window& window, std::size_t offset, int rank,
           int world_size);

  static std::size_t num_bytes(int world_size) { return kWordBytes * world_size; }

  /// On `stream`, which must be idle: writes at all ranks that stores reach that this one has come
  /// to its next call. All ranks must count alike.
  void tell(cuda::Stream stream) noexcept;
  /// Ranks that are known not to have come to the last call. Takes up to a second.
  std::vector<int> missing() noexcept;

 private:
  static constexpr std::size_t kWordBytes = sizeof(std::uint32_t);

  const Window& window_;
  std::size_t offset_;
  int rank_;
  int world_size_;
  OwnedStream stream_;    ///< for reading, when the caller's is stuck
  MappedMemory staging_;  ///< one's own count, then a copy of the words
};

}  // namespace tilewire

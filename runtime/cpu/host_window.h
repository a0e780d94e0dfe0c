#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cpu/aligned_buffer.h"

namespace tilewire {

/// A window of a virtual world: every rank's copy in host memory, zeroed, 64-byte aligned, freed
/// with the last owner (`VirtualWorld::make_window` hands out shared ownership).
class HostWindow {
 public:
  HostWindow(int world_size, std::size_t num_bytes);

  int world_size() const { return static_cast<int>(copies_.size()); }
  std::size_t num_bytes() const { return num_bytes_; }

  /// This rank's copy.
  void* data(int rank) const { return copies_.at(static_cast<std::size_t>(rank)).get(); }

  /// What a kernel's kWindow argument points at: the address of each rank's copy.
  const std::uint64_t* addresses() const { return addresses_.data(); }

 private:
  std::size_t num_bytes_;
  std::vector<AlignedBuffer> copies_;
  std::vector<std::uint64_t> addresses_;
};

}  // namespace tilewire

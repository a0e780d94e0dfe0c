#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/driver/memory.h"

namespace tilewire {

/// The network between virtual ranks on one GPU (templates/tilewire/virtual_network.cuh): what they
/// have asked for, and their signals. All zero at first.
class VirtualNetwork {
 public:
  VirtualNetwork(const Device& device, int world_size, int num_contexts, int num_signals);

  /// What a rank's kernels get in place of `ncclDevComm`.
  std::vector<std::byte> device_comm(int rank) const;
  static std::size_t device_comm_bytes();

  /// What `WindowHandle::window` points at, where copies lie `stride` bytes apart from `base` on.
  static std::vector<std::byte> window_struct(std::uint64_t base, std::uint64_t stride);

  /// Leaves the memory to the end of the process.
  void abandon() noexcept;

 private:
  int world_size_;
  int num_contexts_;
  int num_signals_;
  std::unique_ptr<DeviceMemory> queues_;
  std::unique_ptr<DeviceMemory> signals_;
};

}  // namespace tilewire

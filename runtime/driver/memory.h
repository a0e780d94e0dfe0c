#pragma once

#include <cstddef>

#include "runtime/driver/driver.h"

namespace tilewire {

/// Host memory that the GPU reads and writes in place; zeroed. Stays readable after a trap.
class MappedMemory {
 public:
  MappedMemory(const Device& device, std::size_t num_bytes);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;
  void* host() const { return host_; }
  cuda::DevicePointer device() const { return device_; }

 private:
  const Device& owner_;
  void* host_ = nullptr;
  cuda::DevicePointer device_ = 0;
};

/// Ordinary device memory, owned.
class DeviceMemory {
 public:
  DeviceMemory(const Device& device, std::size_t num_bytes);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  cuda::DevicePointer address() const { return address_; }
  /// Sets all of it to 0 before it returns, also while a stream is captured.
  void clear();

 private:
  const Device& owner_;
  cuda::DevicePointer address_ = 0;
  std::size_t num_bytes_;
};

/// Two lines of 128 bytes of a GPU, aligned to as many, there until the process ends: the same ones
/// at every call.
struct SpareLines {
  cuda::DevicePointer zeros = 0;    ///< all 0: nobody writes it
  cuda::DevicePointer scratch = 0;  ///< anybody may write it, and nobody reads it
};
SpareLines spare_lines(const Device& device);

}  // namespace tilewire

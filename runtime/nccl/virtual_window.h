#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/driver/driver.h"
#include "runtime/driver/memory.h"
#include "runtime/nccl/window.h"

namespace tilewire {

/// Equal pieces of device memory at equal distances of a multiple of 4 GiB: where NCCL's structs
/// can say that ranks have their copies.
class SpacedMemory {
 public:
  SpacedMemory(const Device& device, std::size_t num_bytes, int num_pieces);
  ~SpacedMemory();
  SpacedMemory(const SpacedMemory&) = delete;
  SpacedMemory& operator=(const SpacedMemory&) = delete;

  cuda::DevicePointer base() const { return base_; }
  std::size_t stride() const { return stride_; }
  std::size_t piece_bytes() const { return piece_bytes_; }

 private:
  void map_piece(const Device& device, int index);
  void release();

  const Device& device_;
  int num_pieces_;
  std::size_t piece_bytes_ = 0;
  std::size_t stride_ = 0;
  cuda::DevicePointer base_ = 0;
  std::vector<cuda::MemoryHandle> pieces_;
};

/// A window of a virtual world: a piece of memory per rank, and per rank an NCCL window struct in
/// device memory that says where all of them are.
class VirtualWindow : public Window {
 public:
  static std::unique_ptr<VirtualWindow> make(const Device& device, std::size_t num_bytes,
                                             int world_size, bool has_network = false);
  ~VirtualWindow() override;

 protected:
  void free_memory() override;
  void leak_memory() noexcept override;

 private:
  VirtualWindow(std::unique_ptr<SpacedMemory> memory, std::unique_ptr<DeviceMemory> structs,
                Place place, std::vector<device::WindowHandle> handles);

  std::unique_ptr<SpacedMemory> memory_;
  std::unique_ptr<DeviceMemory> structs_;
};

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/driver/cuda_api.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// Symmetric memory: the same size on all ranks. Its world gives the memory back, when all ranks
/// give it up (`GpuWorld::free`) or the world is closed, whoever still holds this object.
///
/// NCCL maps the memory a second time, at equal distances from rank to rank, elsewhere than where
/// `ncclMemAlloc` put it. A kernel that writes through one address of a piece of memory and reads
/// through another sees old values (the hardware's caches take them for different memory, short of
/// a `fence.proxy.alias`), so tilewire uses one: the second mapping's, for a rank's own copy as for
/// its peers'. `address(r)`, `handle().local`, the lane, DLPack and `x.at(r)` in kernels all mean
/// it; the first one is only given to NCCL's calls.
class Window {
 public:
  struct Place {
    std::uint64_t flat_base = 0;  ///< address of the LSA team's rank 0
    std::uint64_t stride = 0;     ///< bytes from one LSA rank's copy to the next one's
    int first_rank = 0;           ///< world rank of the LSA team's rank 0
    int lsa_size = 1;
  };

  Window(std::size_t num_bytes, Place place, std::vector<device::WindowHandle> handles);
  /// A part of `whole`, which is released with its whole only and must outlive no use of this.
  Window(const Window& whole, std::uint64_t offset, std::size_t num_bytes,
         std::uint64_t first_signal = 0);
  virtual ~Window();
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  std::size_t num_bytes() const { return num_bytes_; }
  /// Gives the memory back. Idempotent.
  void release();
  /// Leaves the memory to the end of the process: freeing it could block or fail.
  void abandon() noexcept;
  bool is_released() const { return released_; }

  /// What a kernel of the process's `local_rank`-th rank takes; 0 except in a virtual world. Its
  /// `local` is `address` of that rank.
  const device::WindowHandle& handle(int local_rank = 0) const { return handles_.at(local_rank); }
  const Place& place() const { return place_; }
  bool is_reachable(int rank) const;
  /// The address of `rank`'s copy, for this process's GPU. UserError where no load reaches it, and
  /// after `release`.
  cuda::DevicePointer address(int rank) const;

 protected:
  virtual void free_memory() {}
  virtual void leak_memory() noexcept {}

 private:
  /// From the first LSA rank's copy to the end of the last one's.
  std::size_t flat_bytes() const {
    return static_cast<std::size_t>(place_.lsa_size - 1) * place_.stride + num_bytes_;
  }
  void forget_range() noexcept;

  std::size_t num_bytes_;
  Place place_;
  std::vector<device::WindowHandle> handles_;
  bool is_part_ = false;
  bool released_ = false;
};

}  // namespace tilewire

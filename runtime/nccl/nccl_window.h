#pragma once

#include <cstddef>
#include <memory>

#include "runtime/driver/driver.h"
#include "runtime/nccl/nccl.h"
#include "runtime/nccl/window.h"

namespace tilewire {

/// NCCL's memory for one window, before it is registered. Not collective.
class NcclMemory {
 public:
  /// BackendError where the GPU has no room. Its address is only for NCCL: see `Window`.
  NcclMemory(const Device& device, std::size_t num_bytes);
  ~NcclMemory();
  NcclMemory(NcclMemory&& other) noexcept;
  NcclMemory& operator=(NcclMemory&&) = delete;
  void* address() const { return address_; }
  void free();
  void leak() noexcept { address_ = nullptr; }

 private:
  const Device& device_;
  void* address_ = nullptr;
};

/// A window over memory that is registered with NCCL.
class NcclWindow : public Window {
 public:
  /// Collective. `stream` is used to read what NCCL made. Null where NCCL makes no symmetric
  /// windows on this machine.
  static std::unique_ptr<NcclWindow> make(const Device& device, nccl::Comm comm, int rank,
                                          NcclMemory memory, std::size_t num_bytes,
                                          cuda::Stream stream);
  ~NcclWindow() override;

 protected:
  void free_memory() override;
  void leak_memory() noexcept override;

 private:
  NcclWindow(const Device& device, nccl::Comm comm, NcclMemory memory, device::WindowHandle own,
             std::size_t num_bytes, Place place);

  const Device& device_;
  nccl::Comm comm_;
  NcclMemory memory_;
  nccl::WindowHandle handle_;
};

}  // namespace tilewire

#include "runtime/driver/memory.h"

#include <cstring>

namespace tilewire {

MappedMemory::MappedMemory(const Device& device, std::size_t num_bytes) : owner_(device) {
  const ContextGuard guard(device);
  const OutsideCapture outside;
  check_cuda(cuda::api().host_alloc(&host_, num_bytes,
                                    cuda::kHostAllocPortable | cuda::kHostAllocDeviceMap),
             "cuMemHostAlloc");
  std::memset(host_, 0, num_bytes);
  check_cuda(cuda::api().host_device_pointer(&device_, host_, 0), "cuMemHostGetDevicePointer");
}

MappedMemory::~MappedMemory() {
  const CleanupScope scope(owner_);
  if (scope && host_ != nullptr) cuda::api().host_free(host_);
}

DeviceMemory::DeviceMemory(const Device& device, std::size_t num_bytes) : owner_(device) {
  const ContextGuard guard(device);
  const OutsideCapture outside;
  check_cuda(cuda::api().memory_alloc(&address_, num_bytes), "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() {
  const CleanupScope scope(owner_);
  if (scope && address_ != 0) cuda::api().memory_free(address_);
}

}  // namespace tilewire

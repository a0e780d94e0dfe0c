#include "runtime/driver/memory.h"

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

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

DeviceMemory::DeviceMemory(const Device& device, std::size_t num_bytes)
    : owner_(device), num_bytes_(num_bytes) {
  const ContextGuard guard(device);
  const OutsideCapture outside;
  check_cuda(cuda::api().memory_alloc(&address_, num_bytes), "cuMemAlloc");
}

DeviceMemory::~DeviceMemory() {
  const CleanupScope scope(owner_);
  if (scope && address_ != 0) cuda::api().memory_free(address_);
}

void DeviceMemory::clear() {
  const ContextGuard guard(owner_);
  const OutsideCapture outside;
  const OwnedStream stream(owner_);
  check_cuda(cuda::api().fill_bytes(address_, 0, num_bytes_, stream.get()), "cuMemsetD8Async");
  stream.synchronize();
}

SpareLines spare_lines(const Device& device) {
  constexpr std::size_t kLineBytes = 128;
  static std::mutex mutex;
  static auto* all = new std::map<int, std::unique_ptr<DeviceMemory>>;  // as long as the process
  const std::lock_guard lock(mutex);
  std::unique_ptr<DeviceMemory>& lines = (*all)[device.ordinal()];
  if (lines == nullptr) {
    auto made = std::make_unique<DeviceMemory>(device, 2 * kLineBytes);
    made->clear();
    lines = std::move(made);
  }
  return {.zeros = lines->address(), .scratch = lines->address() + kLineBytes};
}

}  // namespace tilewire

#include "tests/gpu/gpu.h"

#include "compiler/support/error.h"

namespace tilewire::test {

std::string why_no_gpu() {
  static const std::string why = []() -> std::string {
    try {
      return Device::count() > 0 ? "" : "the driver sees no GPU";
    } catch (const Error& error) {
      return error.message();
    }
  }();
  return why;
}

void upload(cuda::DevicePointer to, std::span<const std::byte> bytes) {
  const Device& device = Device::get(0);
  const ContextGuard guard(device);
  const OwnedStream stream(device);
  check_cuda(cuda::api().copy_to_device(to, bytes.data(), bytes.size(), stream.get()),
             "cuMemcpyHtoDAsync");
  stream.synchronize();
}

std::vector<std::byte> download(cuda::DevicePointer from, std::size_t num_bytes) {
  const Device& device = Device::get(0);
  const ContextGuard guard(device);
  const OwnedStream stream(device);
  std::vector<std::byte> bytes(num_bytes);
  check_cuda(cuda::api().copy_to_host(bytes.data(), from, num_bytes, stream.get()),
             "cuMemcpyDtoHAsync");
  stream.synchronize();
  return bytes;
}

}  // namespace tilewire::test

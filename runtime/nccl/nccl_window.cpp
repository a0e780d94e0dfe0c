#include "runtime/nccl/nccl_window.h"

#include <utility>
#include <vector>

#include "runtime/nccl/device_structs.h"

namespace tilewire {

NcclMemory::NcclMemory(const Device& device, std::size_t num_bytes) : device_(device) {
  const ContextGuard guard(device);
  nccl::check(nccl::api().mem_alloc(&address_, num_bytes), "ncclMemAlloc");
}

NcclMemory::NcclMemory(NcclMemory&& other) noexcept
    : device_(other.device_), address_(std::exchange(other.address_, nullptr)) {}

NcclMemory::~NcclMemory() { free(); }

void NcclMemory::free() {
  if (address_ == nullptr) return;
  const CleanupScope scope(device_);
  if (scope) nccl::api().mem_free(std::exchange(address_, nullptr));
}

std::unique_ptr<NcclWindow> NcclWindow::make(const Device& device, nccl::Comm comm, int rank,
                                             NcclMemory memory, std::size_t num_bytes,
                                             cuda::Stream stream) {
  const ContextGuard guard(device);
  nccl::WindowHandle handle = nullptr;
  nccl::check(nccl::api().window_register(comm, memory.address(), num_bytes, &handle,
                                          nccl::kWindowCollectiveSymmetric),
              "ncclCommWindowRegister", comm);
  if (handle == nullptr) return nullptr;
  // NCCL fills its struct on a stream of its own.
  check_cuda(cuda::api().context_synchronize(), "cuCtxSynchronize");
  const NcclLayout& layout = device_layout();
  std::vector<std::byte> bytes(layout.window_bytes);
  check_cuda(cuda::api().copy_to_host(bytes.data(), reinterpret_cast<cuda::DevicePointer>(handle),
                                      bytes.size(), stream),
             "cuMemcpyDtoHAsync");
  check_cuda(cuda::api().stream_synchronize(stream), "cuStreamSynchronize");
  const WindowFields fields = read_window_struct(layout, bytes);
  const nccl::Team team = nccl::api().team_lsa(comm);
  const Place place{.flat_base = fields.flat_base,
                    .stride = std::uint64_t{fields.stride_4g} << 32,
                    .first_rank = rank - fields.lsa_rank,
                    .lsa_size = team.num_ranks};
  const device::WindowHandle own{
      .window = handle,
      .offset = 0,
      .local = reinterpret_cast<void*>(place.flat_base + place.stride * fields.lsa_rank),
      .stride = place.stride,
      .first_signal = 0};
  return std::unique_ptr<NcclWindow>(
      new NcclWindow(device, comm, std::move(memory), own, num_bytes, place));
}

NcclWindow::NcclWindow(const Device& device, nccl::Comm comm, NcclMemory memory,
                       device::WindowHandle own, std::size_t num_bytes, Place place)
    : Window(num_bytes, place, {own}),
      device_(device),
      comm_(comm),
      memory_(std::move(memory)),
      handle_(own.window) {}

NcclWindow::~NcclWindow() { release(); }

void NcclWindow::free_memory() {
  const CleanupScope scope(device_);
  if (!scope) return;
  nccl::api().window_deregister(comm_, handle_);
  memory_.free();
}

void NcclWindow::leak_memory() noexcept { memory_.leak(); }

}  // namespace tilewire

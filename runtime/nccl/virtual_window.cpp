#include "runtime/nccl/virtual_window.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/virtual_network.h"

namespace tilewire {
namespace {

constexpr std::size_t kStrideUnit = std::size_t{1} << 32;  // of ncclWindow_vidmem::stride4G
constexpr std::size_t kStructAlignment = 256;

std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

cuda::AllocationProperties pinned_on(const Device& device) {
  cuda::AllocationProperties properties = {};
  properties.type = cuda::kMemoryPinned;
  properties.location = {.type = cuda::kLocationDevice, .id = device.ordinal()};
  return properties;
}

std::vector<std::byte> window_struct(const SpacedMemory& memory, int rank, bool has_network) {
  if (has_network) return VirtualNetwork::window_struct(memory.base(), memory.stride());
  return make_window_struct(device_layout(),
                            {.flat_base = memory.base(),
                             .stride_4g = static_cast<std::uint32_t>(memory.stride() / kStrideUnit),
                             .lsa_rank = rank,
                             .world_rank = rank});
}

/// One window struct per rank, `pitch` bytes apart.
std::vector<std::byte> window_structs(const SpacedMemory& memory, int world_size, bool has_network,
                                      std::size_t pitch) {
  std::vector<std::byte> all(pitch * world_size);
  for (int rank = 0; rank < world_size; ++rank) {
    const std::vector<std::byte> bytes = window_struct(memory, rank, has_network);
    std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(pitch * rank));
  }
  return all;
}

}  // namespace

SpacedMemory::SpacedMemory(const Device& device, std::size_t num_bytes, int num_pieces)
    : device_(device), num_pieces_(num_pieces) {
  const ContextGuard guard(device);
  const cuda::AllocationProperties properties = pinned_on(device);
  std::size_t granularity = 0;
  check_cuda(cuda::api().memory_granularity(&granularity, &properties, cuda::kGranularityMinimum),
             "cuMemGetAllocationGranularity");
  piece_bytes_ = round_up(num_bytes, granularity);
  stride_ = round_up(piece_bytes_, kStrideUnit);
  check_cuda(cuda::api().address_reserve(&base_, stride_ * num_pieces, 0, 0, 0),
             "cuMemAddressReserve");
  try {
    for (int index = 0; index < num_pieces; ++index) map_piece(device, index);
  } catch (...) {
    release();
    throw;
  }
}

void SpacedMemory::map_piece(const Device& device, int index) {
  const cuda::AllocationProperties properties = pinned_on(device);
  const cuda::DevicePointer address = base_ + stride_ * index;
  cuda::MemoryHandle handle = 0;
  check_cuda(cuda::api().memory_create(&handle, piece_bytes_, &properties, 0), "cuMemCreate");
  const cuda::Result mapped = cuda::api().memory_map(address, piece_bytes_, 0, handle, 0);
  if (mapped != cuda::kSuccess) {
    cuda::api().memory_release(handle);
    check_cuda(mapped, "cuMemMap");
  }
  pieces_.push_back(handle);
  const cuda::AccessDescription access = {.location = properties.location,
                                          .flags = cuda::kAccessReadWrite};
  check_cuda(cuda::api().memory_set_access(address, piece_bytes_, &access, 1), "cuMemSetAccess");
}

void SpacedMemory::release() {
  const CleanupScope scope(device_);
  if (!scope) return;
  for (std::size_t index = 0; index < pieces_.size(); ++index) {
    cuda::api().memory_unmap(base_ + stride_ * index, piece_bytes_);
    cuda::api().memory_release(pieces_[index]);
  }
  pieces_.clear();
  cuda::api().address_free(base_, stride_ * num_pieces_);
}

SpacedMemory::~SpacedMemory() { release(); }

std::unique_ptr<VirtualWindow> VirtualWindow::make(const Device& device, std::size_t num_bytes,
                                                   int world_size, bool has_network) {
  auto memory = std::make_unique<SpacedMemory>(device, num_bytes, world_size);
  const std::size_t pitch =
      round_up(window_struct(*memory, 0, has_network).size(), kStructAlignment);
  auto structs = std::make_unique<DeviceMemory>(device, pitch * world_size);
  const std::vector<std::byte> bytes = window_structs(*memory, world_size, has_network, pitch);
  {
    const ContextGuard guard(device);
    const OwnedStream stream(device);
    check_cuda(
        cuda::api().copy_to_device(structs->address(), bytes.data(), bytes.size(), stream.get()),
        "cuMemcpyHtoDAsync");
    stream.synchronize();
  }
  std::vector<device::WindowHandle> handles;
  for (int rank = 0; rank < world_size; ++rank) {
    handles.push_back({.window = reinterpret_cast<void*>(structs->address() + pitch * rank),
                       .offset = 0,
                       .local = reinterpret_cast<void*>(memory->base() + memory->stride() * rank),
                       .stride = memory->stride(),
                       .first_signal = 0});
  }
  const Place place{.flat_base = memory->base(),
                    .stride = memory->stride(),
                    .first_rank = 0,
                    .lsa_size = world_size};
  return std::unique_ptr<VirtualWindow>(
      new VirtualWindow(std::move(memory), std::move(structs), place, std::move(handles)));
}

VirtualWindow::VirtualWindow(std::unique_ptr<SpacedMemory> memory,
                             std::unique_ptr<DeviceMemory> structs, Place place,
                             std::vector<device::WindowHandle> handles)
    : Window(memory->piece_bytes(), place, std::move(handles)),
      memory_(std::move(memory)),
      structs_(std::move(structs)) {}

VirtualWindow::~VirtualWindow() { release(); }

void VirtualWindow::free_memory() {
  structs_.reset();
  memory_.reset();
}

void VirtualWindow::leak_memory() noexcept {
  static_cast<void>(structs_.release());
  static_cast<void>(memory_.release());
}

}  // namespace tilewire

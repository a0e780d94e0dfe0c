#include "runtime/nccl/virtual_network.h"

#include <cstring>

#include "templates/tilewire/virtual_network_layout.cuh"

namespace tilewire {
namespace {

template <typename Struct>
std::vector<std::byte> bytes_of(const Struct& value) {
  std::vector<std::byte> bytes(sizeof(Struct));
  std::memcpy(bytes.data(), &value, sizeof(Struct));
  return bytes;
}

std::unique_ptr<DeviceMemory> cleared(const Device& device, std::size_t num_bytes) {
  auto memory = std::make_unique<DeviceMemory>(device, num_bytes);
  const ContextGuard guard(device);
  const OwnedStream stream(device);
  check_cuda(cuda::api().fill_bytes(memory->address(), 0, num_bytes, stream.get()),
             "cuMemsetD8Async");
  stream.synchronize();
  return memory;
}

}  // namespace

VirtualNetwork::VirtualNetwork(const Device& device, int world_size, int num_contexts,
                               int num_signals)
    : world_size_(world_size), num_contexts_(num_contexts), num_signals_(num_signals) {
  const std::size_t wires = static_cast<std::size_t>(world_size) * num_contexts;
  queues_ = cleared(device, wires * sizeof(device::VirtualQueue));
  signals_ = cleared(device, wires * num_signals * sizeof(std::uint64_t));
}

std::vector<std::byte> VirtualNetwork::device_comm(int rank) const {
  return bytes_of(
      device::VirtualNetwork{.rank = rank,
                             .nRanks = world_size_,
                             .num_contexts = static_cast<std::uint32_t>(num_contexts_),
                             .num_signals = static_cast<std::uint32_t>(num_signals_),
                             .queues = reinterpret_cast<device::VirtualQueue*>(queues_->address()),
                             .signals = reinterpret_cast<std::int64_t*>(signals_->address())});
}

std::size_t VirtualNetwork::device_comm_bytes() { return sizeof(device::VirtualNetwork); }

std::vector<std::byte> VirtualNetwork::window_struct(std::uint64_t base, std::uint64_t stride) {
  return bytes_of(device::VirtualPlace{.base = base, .stride = stride});
}

void VirtualNetwork::abandon() noexcept {
  static_cast<void>(queues_.release());
  static_cast<void>(signals_.release());
}

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compiler/jit/nccl_layout.h"

namespace tilewire {

/// The fields of NCCL's window struct (`ncclWindow_vidmem`) that reach memory.
struct WindowFields {
  std::uint64_t flat_base = 0;  ///< address of the LSA team's rank 0
  std::uint32_t stride_4g = 0;  ///< from one LSA rank's copy to the next one's, in 4 GiB
  std::int32_t lsa_rank = 0;
  std::int32_t world_rank = 0;
  bool operator==(const WindowFields&) const = default;
};

/// The layout of the NCCL in use. BackendError where its headers are missing or belong to another
/// version than the library.
const NcclLayout& device_layout();

WindowFields read_window_struct(const NcclLayout& layout, std::span<const std::byte> bytes);

/// All else in it is zero.
std::vector<std::byte> make_window_struct(const NcclLayout& layout, const WindowFields& fields);

/// A device communicator (`ncclDevComm`) of a world whose ranks all reach each other, with what its
/// world and LSA teams need; no NCCL resources.
std::vector<std::byte> make_device_comm(const NcclLayout& layout, int rank, int world_size);

/// How many contexts of the network a device communicator has, as NCCL made it.
int gin_contexts_of(const NcclLayout& layout, std::span<const std::byte> device_comm);

/// Where its multicast memory begins; 0 where it has none.
std::uint64_t multicast_address_of(const NcclLayout& layout,
                                   std::span<const std::byte> device_comm);

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compiler/jit/target.h"
#include "runtime/driver/driver.h"

namespace tilewire {

/// Sets `count` of this rank's signals over the network, from number `first` on, to 0 on each of
/// `num_contexts` contexts, and returns when that is done. Nobody may be signalling them.
/// `device_comm`: `ncclDevComm`, as opaque bytes.
void reset_signals(const Device& device, const Target& target,
                   std::span<const std::byte> device_comm, int num_contexts, std::uint64_t first,
                   std::uint64_t count, cuda::Stream stream);

/// The kernel that does it, for tests.
const char* signal_reset_source();

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/jit/artifact.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// Where a kernel's parameters lie in its parameter space: in order, each at the next multiple of
/// its alignment, as the CUDA ABI has it.
struct ArgumentLayout {
  struct Slot {
    std::size_t offset = 0;
    std::size_t size = 0;
    std::size_t alignment = 1;
  };
  /// Of parameter space as a whole: offsets of what is aligned to more, and of what stands behind
  /// it, aren't the driver's.
  static constexpr std::size_t kSpaceAlignment = 16;
  std::vector<Slot> slots;    ///< one per `Artifact::arguments`
  std::size_t num_bytes = 0;  ///< of all, without padding at the end

  /// InternalError where the artifact takes a device communicator and `device_comm_bytes` is 0, or
  /// where a slot names a parameter that there is not.
  static ArgumentLayout of(const Artifact& artifact, std::size_t device_comm_bytes);
};

/// The value of one `Artifact::arguments` slot. Every member starts at the union's address, so a
/// slot's value is its first `ArgumentLayout::Slot::size` bytes, whatever its kind.
union ArgumentValue {
  std::uint64_t pointer;        ///< kTensor: the address of element 0
  device::WindowHandle window;  ///< kWindow
  std::uint64_t scalar;         ///< kScalar: the dtype's bits, in the low bytes
  std::int64_t integer;         ///< kExtent, kStride
};
static_assert(sizeof(ArgumentValue) == 40);

}  // namespace tilewire

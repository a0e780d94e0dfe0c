#pragma once

#include <cstddef>
#include <vector>

#include "compiler/jit/artifact.h"

namespace tilewire {

/// Where a kernel's parameters lie in its parameter space: in order, each at the next multiple of
/// its alignment, as the CUDA ABI has it.
struct ArgumentLayout {
  struct Slot {
    std::size_t offset = 0;
    std::size_t size = 0;
    std::size_t alignment = 1;
  };
  std::vector<Slot> slots;    ///< one per `Artifact::arguments`
  std::size_t num_bytes = 0;  ///< of all, without padding at the end

  /// InternalError where the artifact takes a device communicator and `device_comm_bytes` is 0, or
  /// where a slot names a parameter that there is not.
  static ArgumentLayout of(const Artifact& artifact, std::size_t device_comm_bytes);
};

}  // namespace tilewire

#include "runtime/nccl/network_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/error.h"
#include "templates/tilewire/network_layout.cuh"

namespace tilewire {

int network_grid_limit(const Artifact& artifact, const LaneShape& shape, int limit) {
  const Resources& resources = artifact.resources;
  if (!resources.network) return limit;
  if (resources.world_barrier) limit = std::min(limit, static_cast<int>(shape.network_slots));
  if (resources.staging_bytes == 0) return limit;
  const std::uint64_t each =
      device::staged_bytes(static_cast<std::uint64_t>(resources.staging_bytes));
  const std::uint64_t served = shape.staging_bytes / each;
  if (served == 0) {
    throw UserError(
        fmt::format("kernel `{}` sends {} bytes at a time over the network, and a lane holds {} "
                    "until they are sent: use smaller tiles",
                    artifact.kernel, resources.staging_bytes, shape.staging_bytes));
  }
  return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(limit), served));
}

}  // namespace tilewire

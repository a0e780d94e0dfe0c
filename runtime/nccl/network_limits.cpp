#include "runtime/nccl/network_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/support/error.h"
#include "runtime/driver/grid.h"
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

void check_network_grid(const Artifact& artifact, const LaneShape& shape, int lane,
                        std::int64_t grid) {
  const int served = network_grid_limit(artifact, shape, std::numeric_limits<int>::max());
  if (grid <= served) return;
  const int fits = whole_clusters(artifact, served);
  throw UserError(fmt::format(
      "kernel `{}`: a grid of {} on lane {}, which has barrier slots and memory for {} program "
      "instances of it over the network: use tw.auto or a grid of at most {}",
      artifact.kernel, grid, lane, served, fits));
}

}  // namespace tilewire

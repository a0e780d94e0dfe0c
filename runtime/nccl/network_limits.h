#pragma once

#include "compiler/jit/artifact.h"
#include "runtime/nccl/lane.h"

namespace tilewire {

/// The largest grid that a lane serves over the network: each instance has a barrier slot, where
/// the kernel has barriers, and as much staging memory as one of its tiles or messages takes.
/// UserError where one alone takes more than there is; `limit` where the kernel uses no network.
int network_grid_limit(const Artifact& artifact, const LaneShape& shape, int limit);

/// UserError where a lane doesn't serve this grid over the network.
void check_network_grid(const Artifact& artifact, const LaneShape& shape, int lane,
                        std::int64_t grid);

}  // namespace tilewire

#pragma once

#include <cstdint>

#include "compiler/codegen/cpu/abi.h"

namespace tilewire {

/// Who meets at a barrier over the network, and whether it covers what was put before.
struct NetworkMeeting {
  bool is_of_rail = false;  ///< else of the world
  bool releases = true;
};

/// The instances with this linear program id on this rank and on all ranks of the team that loads
/// and stores don't reach meet: each signals all the others, behind its puts to them, and waits
/// for theirs.
void cpu_network_barrier(CpuInstance& instance, NetworkMeeting meeting, std::uint32_t site);

/// All instances of all ranks of the team meet, as on a GPU: those of this rank; then, for each
/// context of the network, one instance of each rank, so that all that was put on it is there (here
/// each instance has a context); then those of this rank again.
void cpu_network_grid_barrier(CpuInstance& instance, NetworkMeeting meeting, std::uint32_t site);

}  // namespace tilewire

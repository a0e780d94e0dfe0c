#pragma once

#include <cstdint>

#include "compiler/codegen/cpu/abi.h"
#include "runtime/cpu/lane.h"

namespace tilewire {

/// The instances with this linear program id on all ranks of the team meet. As on a GPU: each
/// announces its next phase in every member's inbox, then waits until its own inbox has it from
/// all. Called on a fiber of a `Scheduler`; `site` is an index into `Artifact::wait_sites`.
void cpu_barrier(CpuInstance& instance, CpuTeam team, std::uint32_t site);

/// All instances of all ranks of the LSA team meet, or all of this rank. As on a GPU: each adds to
/// its rank's word in every member's memory, then waits for all words in its own.
void cpu_grid_barrier(CpuInstance& instance, bool is_local, std::uint32_t site);

}  // namespace tilewire

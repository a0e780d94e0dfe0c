#pragma once

#include "compiler/ir/program.h"

namespace tilewire {

/// 32-bit registers that tiles take of a thread where most of them are alive: over loads, stores,
/// reductions and whatever else isn't computed element by element.
int tile_registers(const Program& lowered);

/// CTAs that the registers of an SM should suffice for. For a kernel that waits for nobody and
/// streams through memory in whole vectors: as many as have at least the registers that their tiles
/// take, so that the loads of more CTAs are in flight. Others, and those with ops whose templates
/// take registers of their own (`matmul`, sorts, …): 512 threads.
/// `max_threads`: that an SM can hold.
int resident_ctas(const Program& lowered, int max_threads);

/// Registers of a thread of the producer's warpgroup of a kernel with roles
/// (templates/tilewire/roles.cuh); 0: as many as usual, which are enough to fill the ring.
int producer_registers_of(const Program& lowered);

/// Whether the tiles of a kernel with roles take so many registers of its consumers that few are
/// left for places of elements.
bool has_few_registers(const Program& lowered);

}  // namespace tilewire

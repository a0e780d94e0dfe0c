#pragma once

#include <span>
#include <string>

#include "runtime/driver/driver.h"
#include "runtime/nccl/capabilities.h"
#include "runtime/nccl/nccl.h"

namespace tilewire {

/// Where a rank stands in its world.
struct RankPlace {
  int rank = 0;
  int world_size = 1;
  int lsa_rank = 0;
  int lsa_size = 1;
};

/// What this rank can find out alone, before NCCL is asked to make anything. No multicast object is
/// made. Atomics are left open: they take the peers' answers.
RankCapabilities probe_rank(const Device& device, nccl::Comm comm, const RankPlace& place);

/// Native atomics from `device` at the GPUs of the other ranks of the team.
Answer probe_atomics(const Device& device, int rank, std::span<const RankCapabilities> of_rank);

/// Whether launches on this GPU can be captured: captures some work, and makes a graph of it.
Answer probe_graphs(const Device& device);

/// Name, place and host of a GPU, for the table of capabilities.
void describe_device(const Device& device, RankCapabilities& found);

}  // namespace tilewire

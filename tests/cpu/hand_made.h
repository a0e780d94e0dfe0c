#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/cpu/kernel.h"
#include "runtime/cpu/virtual_world.h"

namespace tilewire {

/// A kernel that is a C++ function, for tests of the scheduler. It may wait at line 1 + i of
/// `hand_made.py` as site i.
inline CpuKernel hand_made(CpuEntry entry, int world_size, int lsa_size = 0, int num_sites = 3,
                           int num_arguments = 1) {
  Artifact artifact;
  artifact.kernel = artifact.entry = "hand_made";
  artifact.source_file = "hand_made.py";
  artifact.target.world_size = world_size;
  artifact.target.lsa_size = lsa_size == 0 ? world_size : lsa_size;
  artifact.resources.lane = artifact.resources.waits = artifact.resources.world_barrier =
      num_sites > 0;
  for (int i = 0; i < num_sites; ++i) {
    artifact.wait_sites.push_back({{"hand_made.py", i + 1, 1}, "barrier(team=world)"});
  }
  artifact.arguments.resize(static_cast<std::size_t>(num_arguments));
  return CpuKernel(std::move(artifact), entry);
}

/// The same one argument, an address, for every rank.
inline std::vector<std::vector<std::uint64_t>> same_argument(int world_size, void* address) {
  return std::vector<std::vector<std::uint64_t>>(static_cast<std::size_t>(world_size),
                                                 {reinterpret_cast<std::uint64_t>(address)});
}

}  // namespace tilewire

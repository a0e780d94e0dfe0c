#include "runtime/cpu/lane.h"

#include <algorithm>

namespace tilewire {

CpuLane::CpuLane(int world_size, int lsa_size)
    : world_size_(world_size),
      lsa_size_(lsa_size),
      grid_words_(static_cast<std::size_t>(world_size * (lsa_size + 1))) {}

void CpuLane::cover(std::int64_t num_slots) {
  const std::size_t num_phases =
      std::max(lsa_.phase.size(), static_cast<std::size_t>(num_slots * world_size_));
  for (const CpuTeam team : {CpuTeam::kLsa, CpuTeam::kWorld}) {
    state(team).phase.resize(num_phases);
    state(team).inbox.resize(num_phases * static_cast<std::size_t>(team_size(team)));
  }
}

}  // namespace tilewire

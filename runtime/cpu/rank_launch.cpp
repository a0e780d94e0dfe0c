// What one rank launches, and the words that its instances share.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "compiler/support/error.h"
#include "runtime/cpu/scheduler.h"

namespace tilewire {
void RankLaunch::place(CpuInstance& instance, int rank, std::int64_t program_id) const {
  instance.rank = rank;
  std::copy(grid.begin(), grid.end(), instance.num_programs);
  instance.program_id[0] = program_id % grid[0];
  instance.program_id[1] = program_id / grid[0] % grid[1];
  instance.program_id[2] = program_id / (grid[0] * grid[1]);
}

std::vector<std::int64_t> RankLaunch::words() const {
  if (kernel == nullptr) return {};
  const Artifact& artifact = kernel->artifact();
  std::vector<std::int64_t> extents;
  for (std::size_t i = 0; i < artifact.arguments.size(); ++i) {
    if (artifact.arguments[i].kind != ArgumentSlot::Kind::kExtent) continue;
    extents.push_back(static_cast<std::int64_t>(arguments.at(i)));
  }
  const std::int64_t count = artifact.launch.num_counters + artifact.launch.num_places(extents);
  return std::vector<std::int64_t>(static_cast<std::size_t>(count));
}

void RankLaunch::check_arrivals(std::span<const std::int64_t> words) const {
  const auto places =
      words.subspan(static_cast<std::size_t>(kernel->artifact().launch.num_counters));
  const auto found = std::ranges::find_if(places, [](std::int64_t word) { return word != 0; });
  if (found == places.end()) return;
  throw UserError(fmt::format(
      "`{}`: {} arrived at one place of an `arrive` whose last one never came; as many must come "
      "in each launch as count= says",
      kernel->artifact().kernel, *found));
}

CpuCounters::CpuCounters(std::span<const RankLaunch> ranks) {
  for (const RankLaunch& launch : ranks) by_rank_.push_back(launch.words());
}

}  // namespace tilewire

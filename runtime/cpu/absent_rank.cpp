#include "runtime/cpu/absent_rank.h"

#include <fmt/format.h>

namespace tilewire {

std::string absent_rank_message(std::int64_t rank, CountedIn team, std::int64_t team_size) {
  const bool is_world = team == CountedIn::kWorld;
  return fmt::format(
      "{} has no rank {}, ranks are 0 to {}; keep it in there, by `r % tw.world_size({})` or under "
      "an `if`",
      is_world ? "the world" : "the LSA team", rank, team_size - 1, is_world ? "" : "tw.lsa");
}

std::string describe_instance(const CpuInstance& instance, bool has_rank) {
  return fmt::format("{}program ({}, {}, {})",
                     has_rank ? fmt::format("rank {}, ", instance.rank) : "",
                     instance.program_id[0], instance.program_id[1], instance.program_id[2]);
}

UserError absent_rank_error(const CpuInstance& instance, std::int64_t rank, CountedIn team,
                            std::int64_t team_size, const SourceLocation& location) {
  return UserError(fmt::format("{} ({})", absent_rank_message(rank, team, team_size),
                               describe_instance(instance)),
                   location);
}

}  // namespace tilewire

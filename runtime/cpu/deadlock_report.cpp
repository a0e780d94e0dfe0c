#include "runtime/cpu/deadlock_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/cpu/scheduler.h"

namespace tilewire {
namespace {

std::string describe(const WaitSite& site) {
  return fmt::format("waits at {} in {}", site.location.to_string(), site.what);
}

const WaitSite& site_of(const Scheduler& scheduler, const FiberTask& task) {
  const auto rank = static_cast<std::size_t>(task.rank);
  return scheduler.ranks()[rank].kernel->artifact().wait_sites.at(task.site);
}

/// Whether `awaited` is the waiter's namesake, which needs no number in the report.
std::string describe(const Scheduler& scheduler, const AwaitedInstance& awaited, bool is_namesake) {
  const std::string who =
      is_namesake ? fmt::format("rank {}", awaited.rank)
                  : fmt::format("rank {}, program {}", awaited.rank, awaited.program_id);
  switch (scheduler.progress(awaited)) {
    case Scheduler::Progress::kNotLaunched:
      return who + ", which never launched";
    case Scheduler::Progress::kOutsideGrid:
      return fmt::format("{}, whose grid has only {} instances", who,
                         scheduler.ranks()[static_cast<std::size_t>(awaited.rank)].num_instances());
    case Scheduler::Progress::kNotStarted:
      return fmt::format("{}, which isn't started: a rank runs {} instances at once at most", who,
                         scheduler.resident_limit());
    case Scheduler::Progress::kFinished:
      return who + ", which has finished";
    case Scheduler::Progress::kRuns:
      return fmt::format("{}, which {}", who,
                         describe(site_of(scheduler, *scheduler.task(awaited))));
  }
  throw InternalError("unknown progress of a program instance");
}

std::string describe(const Scheduler& scheduler, const FiberTask& waiter) {
  std::vector<std::string> reasons;
  for (const AwaitedInstance& awaited : waiter.condition->awaited()) {
    reasons.push_back(
        describe(scheduler, awaited, awaited.program_id == waiter.linear_program_id()));
  }
  return fmt::format("{} for {}", describe(site_of(scheduler, waiter)),
                     fmt::join(reasons, "; for "));
}

/// `program 3`, `programs 0-2, 5`. Ascending ids.
std::string describe(const std::vector<std::int64_t>& program_ids) {
  std::vector<std::string> ranges;
  for (std::size_t first = 0; first < program_ids.size();) {
    std::size_t last = first;
    while (last + 1 < program_ids.size() && program_ids[last + 1] == program_ids[last] + 1) ++last;
    ranges.push_back(first == last ? fmt::format("{}", program_ids[first])
                                   : fmt::format("{}-{}", program_ids[first], program_ids[last]));
    first = last + 1;
  }
  return fmt::format("{} {}", program_ids.size() == 1 ? "program" : "programs",
                     fmt::join(ranges, ", "));
}

}  // namespace

HangError deadlock_error(const Scheduler& scheduler) {
  std::map<std::pair<int, std::string>, std::vector<std::int64_t>> lines;
  const FiberTask* first = nullptr;
  for (int rank = 0; rank < static_cast<int>(scheduler.ranks().size()); ++rank) {
    const auto num_instances = scheduler.ranks()[static_cast<std::size_t>(rank)].num_instances();
    for (std::int64_t program_id = 0; program_id < num_instances; ++program_id) {
      const FiberTask* task = scheduler.task({rank, program_id});
      if (task == nullptr || task->condition == nullptr) continue;
      if (first == nullptr) first = task;
      lines[{rank, describe(scheduler, *task)}].push_back(program_id);
    }
  }
  if (first == nullptr) throw InternalError("a launch stands still, and nothing in it waits");
  const RankLaunch& launch = scheduler.ranks()[static_cast<std::size_t>(first->rank)];
  std::string text = fmt::format("deadlock in `{}` on {} virtual ranks: no instance can go on",
                                 launch.kernel->artifact().kernel, scheduler.ranks().size());
  for (const auto& [key, program_ids] : lines) {
    text += fmt::format("\n  rank {}, {}: {}", key.first, describe(program_ids), key.second);
  }
  return HangError(text, site_of(scheduler, *first).location);
}

}  // namespace tilewire

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

/// What an awaited instance does.
std::string story_of(const Scheduler& scheduler, const AwaitedInstance& awaited) {
  switch (scheduler.progress(awaited)) {
    case Scheduler::Progress::kNotLaunched:
      return "which never launched";
    case Scheduler::Progress::kOutsideGrid:
      return fmt::format("whose grid has only {} instances",
                         scheduler.ranks()[static_cast<std::size_t>(awaited.rank)].num_instances());
    case Scheduler::Progress::kNotStarted:
      return fmt::format("which isn't started: a rank runs {} instances at once at most",
                         scheduler.resident_limit());
    case Scheduler::Progress::kFinished:
      return "which has finished";
    case Scheduler::Progress::kRuns:
      return "which " + describe(site_of(scheduler, *scheduler.task(awaited)));
  }
  throw InternalError("unknown progress of a program instance");
}

/// `program 3`, `tasks of programs 0-2, 5`. Ascending ids.
std::string describe(const std::vector<std::int64_t>& program_ids, bool in_task) {
  std::vector<std::string> ranges;
  for (std::size_t first = 0; first < program_ids.size();) {
    std::size_t last = first;
    while (last + 1 < program_ids.size() && program_ids[last + 1] == program_ids[last] + 1) ++last;
    ranges.push_back(first == last ? fmt::format("{}", program_ids[first])
                                   : fmt::format("{}-{}", program_ids[first], program_ids[last]));
    first = last + 1;
  }
  const bool is_one = program_ids.size() == 1;
  return fmt::format("{}{} {}",
                     !in_task ? ""
                     : is_one ? "task of "
                              : "tasks of ",
                     is_one ? "program" : "programs", fmt::join(ranges, ", "));
}

/// Awaited instances of one rank with the same story share it. A waiter's only namesake needs no
/// number.
std::string describe(const Scheduler& scheduler, const FiberTask& waiter) {
  const std::string missing = waiter.condition->missing();
  const std::vector<AwaitedInstance> all_awaited = waiter.condition->awaited();
  if (all_awaited.empty()) {
    return fmt::format("{}: {}", describe(site_of(scheduler, waiter)), missing);
  }
  std::vector<std::tuple<int, std::string, std::vector<std::int64_t>, bool>> groups;
  for (const AwaitedInstance& awaited : all_awaited) {
    const std::string story = story_of(scheduler, awaited);
    if (groups.empty() || std::get<0>(groups.back()) != awaited.rank ||
        std::get<1>(groups.back()) != story || std::get<3>(groups.back()) != awaited.in_task) {
      groups.push_back({awaited.rank, story, {}, awaited.in_task});
    }
    std::get<2>(groups.back()).push_back(awaited.program_id);
  }
  std::vector<std::string> reasons;
  for (const auto& [rank, story, ids, in_task] : groups) {
    const bool is_namesake =
        ids.size() == 1 && ids[0] == waiter.linear_program_id() && !in_task && waiter.in_task == 0;
    reasons.push_back(fmt::format("rank {}{}, {}{}", rank,
                                  is_namesake ? "" : ", " + describe(ids, in_task),
                                  ids.size() == 1 ? "" : "each of ", story));
  }
  return fmt::format("{} for {}{}", describe(site_of(scheduler, waiter)),
                     fmt::join(reasons, "; for "), missing.empty() ? "" : ": " + missing);
}

}  // namespace

HangError deadlock_error(const Scheduler& scheduler) {
  std::map<std::tuple<int, bool, std::string>, std::vector<std::int64_t>> lines;
  const FiberTask* first = nullptr;
  for (int rank = 0; rank < static_cast<int>(scheduler.ranks().size()); ++rank) {
    const auto num_instances = scheduler.ranks()[static_cast<std::size_t>(rank)].num_instances();
    for (const bool in_task : {false, true}) {
      for (std::int64_t program_id = 0; program_id < num_instances; ++program_id) {
        const FiberTask* task = scheduler.task({rank, program_id, in_task});
        if (task == nullptr || task->condition == nullptr) continue;
        if (first == nullptr) first = task;
        lines[{rank, in_task, describe(scheduler, *task)}].push_back(program_id);
      }
    }
  }
  if (first == nullptr) throw InternalError("a launch stands still, and nothing in it waits");
  const RankLaunch& launch = scheduler.ranks()[static_cast<std::size_t>(first->rank)];
  const Target& target = launch.kernel->artifact().target;
  std::string text = fmt::format(
      "deadlock in `{}` on {} virtual ranks: no instance can go on{}",
      launch.kernel->artifact().kernel, scheduler.ranks().size(),
      target.lsa_size < target.world_size ? ", nothing is under way in the network" : "");
  for (const auto& [key, program_ids] : lines) {
    const auto& [rank, in_task, story] = key;
    text += fmt::format("\n  rank {}, {}: {}", rank, describe(program_ids, in_task), story);
  }
  return HangError(text, site_of(scheduler, *first).location);
}

}  // namespace tilewire

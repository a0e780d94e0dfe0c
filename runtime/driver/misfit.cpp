#include "runtime/driver/misfit.h"

#include <fmt/format.h>

#include "compiler/support/error.h"
#include "runtime/driver/launch_registry.h"

namespace tilewire {
namespace {

bool is_overlap(const device::Misfit& misfit, int rank) {
  return misfit.peer == static_cast<std::uint32_t>(rank);
}

std::string name_of_launch(std::uint32_t hash, const char* unknown) {
  return find_launch(hash).value_or(unknown);
}

/// The device knows the sum of what runs; where the reporting launch's instance 0 has left already,
/// that is the other one alone.
std::string other_at_once(const device::Misfit& misfit) {
  if (const auto name = find_launch(misfit.other)) return *name;
  return name_of_launch(misfit.other + misfit.own, "another one");
}

}  // namespace

std::string describe_misfit(const device::Misfit& misfit, int rank, int lane) {
  const std::string own = name_of_launch(misfit.own, "a launch");
  if (is_overlap(misfit, rank)) {
    return fmt::format(
        "two launches of lane {} ran at once on rank {}: {} and {}. Launches of a lane take turns: "
        "order graph replays against the lane's other work, or give them a lane of their own "
        "(comm.lane). The lane has ended, and what the launches computed is not to be used",
        lane, rank, own, other_at_once(misfit));
  }
  if (misfit.other == device::kEndedHash) {
    return fmt::format(
        "lane {} has ended on rank {}: a launch on it failed there, or launches didn't "
        "fit together. Rank {} gave up on {}",
        lane, misfit.peer, rank, own);
  }
  return fmt::format(
      "ranks launched different things on lane {}: rank {} {}, rank {} {}. All ranks must launch "
      "the same kernels, with the same grids, constants and loop bounds, in one order. The lane "
      "has ended",
      lane, rank, own, misfit.peer,
      name_of_launch(misfit.other,
                     "another kernel, grid, constant or loop bound, which this rank "
                     "has not launched"));
}

void raise_misfit(const device::Misfit& misfit, int rank, int lane) {
  if (is_overlap(misfit, rank)) throw UserError(describe_misfit(misfit, rank, lane));
  throw HangError(describe_misfit(misfit, rank, lane));
}

}  // namespace tilewire

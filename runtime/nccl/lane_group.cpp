#include "runtime/nccl/lane_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/support/error.h"
#include "runtime/driver/grid.h"
#include "runtime/nccl/network_limits.h"

namespace tilewire {

std::string LaneOptions::to_string() const {
  return fmt::format("sms={}, exclusive={}", num_sms > 0 ? fmt::format("{}", num_sms) : "None",
                     exclusive ? "True" : "False");
}

int LaneGroup::grid_limit() const {
  const int slots = static_cast<int>(of_rank.front()->shape().num_slots);
  return options.num_sms > 0 ? std::min(slots, options.num_sms) : slots;
}

void LaneGroup::check_budget(const Artifact& artifact, std::int64_t grid) const {
  if (!of_rank.empty()) check_network_grid(artifact, of_rank.front()->shape(), number, grid);
  if (options.num_sms == 0 || grid <= options.num_sms) return;
  const int fits = whole_clusters(artifact, options.num_sms);
  throw UserError(
      fmt::format("kernel `{}`: a grid of {} on lane {}, whose budget is {} multiprocessors: use "
                  "tw.auto or a grid of at most {}",
                  artifact.kernel, grid, number, options.num_sms, fits));
}

void LaneGroup::check() const {
  for (const auto& lane : of_rank) lane->check();
}

void LaneGroup::end(const std::string& reason) {
  for (const auto& lane : of_rank) lane->end(reason);
}

void LaneGroup::abort() {
  for (const auto& lane : of_rank) lane->abort();
}

void LaneGroup::set_options(const LaneOptions& chosen) {
  options = chosen;
  for (const auto& lane : of_rank) lane->set_exclusive(chosen.exclusive);
}

bool LaneGroup::has_hung() const {
  return std::ranges::any_of(of_rank, [](const auto& lane) { return lane->has_hung(); });
}

bool LaneGroup::is_stopped() const {
  return std::ranges::any_of(of_rank, [](const auto& lane) { return lane->is_stopped(); });
}

void LaneGroup::abandon() noexcept {
  for (auto& lane : of_rank) static_cast<void>(lane.release());
  of_rank.clear();
  static_cast<void>(window.release());
}

void check_budgets(const std::vector<std::unique_ptr<LaneGroup>>& lanes, int number,
                   const LaneOptions& added, int num_sms) {
  if (number < 0) throw UserError(fmt::format("comm.lane: lanes count from 0, found {}", number));
  if (added.num_sms < 0) {
    throw UserError(fmt::format("comm.lane({}): a budget of {} multiprocessors; it is at least 1",
                                number, added.num_sms));
  }
  int sum = added.num_sms;
  std::string others;
  for (const auto& lane : lanes) {
    if (lane->options.num_sms == 0) continue;
    sum += lane->options.num_sms;
    others += fmt::format(", {} of lane {}", lane->options.num_sms, lane->number);
  }
  if (sum <= num_sms) return;
  throw UserError(
      fmt::format("comm.lane({}): budgets of {} multiprocessors together ({} of this lane{}), a "
                  "rank has {}: ask for at most {}",
                  number, sum, added.num_sms, others, num_sms, num_sms - sum + added.num_sms));
}

}  // namespace tilewire

#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/nccl/lane.h"
#include "runtime/nccl/window.h"

namespace tilewire {

/// What a lane is asked for; alike on all ranks.
struct LaneOptions {
  /// Multiprocessors that its grids may occupy together, and so the largest of its grids: n CTAs
  /// lie on n multiprocessors at most, wherever the GPU puts them. 0: no budget.
  int num_sms = 0;
  /// The caller's promise that nothing else waits on this GPU while this lane's kernels do: they
  /// launch without the cooperative attribute.
  bool exclusive = false;
  bool operator==(const LaneOptions&) const = default;

  /// `sms=16, exclusive=True`; `sms=None, exclusive=False`.
  std::string to_string() const;
};

/// A lane of a world: alike on all ranks, with the state of each rank that this process drives.
struct LaneGroup {
  int number = 0;
  LaneOptions options;
  std::unique_ptr<Window> window;              ///< holds the state, zeroed at first
  std::vector<std::unique_ptr<Lane>> of_rank;  ///< one per local rank
  std::mutex mutex;                            ///< for callers whose launches may come at once

  /// The largest grid that the barrier slots and the budget serve.
  int grid_limit() const;
  /// UserError where the budget doesn't allow this grid, or not so many instances can use the
  /// network at once.
  void check_budget(const Artifact& artifact, std::int64_t grid) const;
  /// Throws where a launch on it would, without launching.
  void check() const;
  /// Makes every wait of its kernels return, and every later launch raise; why: see `Lane::end`.
  void end(const std::string& reason);
  void abort();
  void set_options(const LaneOptions& chosen);
  bool has_hung() const;
  bool is_stopped() const;
  /// Leaves everything where it is.
  void abandon() noexcept;
};

/// UserError where the budgets of `lanes` and `added` exceed `num_sms` together, or `added` is no
/// budget or number that a lane can have.
void check_budgets(const std::vector<std::unique_ptr<LaneGroup>>& lanes, int number,
                   const LaneOptions& added, int num_sms);

}  // namespace tilewire

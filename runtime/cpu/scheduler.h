#pragma once

#include <array>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "runtime/cpu/aligned_buffer.h"
#include "runtime/cpu/fiber_stack.h"
#include "runtime/cpu/kernel.h"
#include "runtime/cpu/lane.h"
#include "runtime/cpu/launch_control.h"

namespace tilewire {

/// What one rank of a virtual world launches.
struct RankLaunch {
  const CpuKernel* kernel = nullptr;  ///< null: this rank launches nothing
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  std::vector<std::uint64_t> arguments;  ///< as `CpuEntry` says

  std::int64_t num_instances() const { return kernel == nullptr ? 0 : grid[0] * grid[1] * grid[2]; }
  /// Says to an instance who it is, by its linear program id.
  void place(CpuInstance& instance, int rank, std::int64_t program_id) const;
};

/// The counters of one launch, by rank: 0 when it starts.
class CpuCounters {
 public:
  explicit CpuCounters(std::span<const RankLaunch> ranks);
  std::int64_t* of(int rank) { return by_rank_[static_cast<std::size_t>(rank)].data(); }

 private:
  std::vector<std::vector<std::int64_t>> by_rank_;
};

/// An instance that another one waits for.
struct AwaitedInstance {
  int rank;
  std::int64_t program_id;  ///< linear
};

/// What a waiting instance waits for. Lives on that instance's stack.
class WaitCondition {
 public:
  virtual ~WaitCondition() = default;
  virtual bool is_met() const = 0;
  /// Who has to do something for it to become true.
  virtual std::vector<AwaitedInstance> awaited() const = 0;
};

/// A started program instance: `CpuInstance` for its code, a fiber for the scheduler.
struct FiberTask : CpuInstance {
  boost::context::fiber fiber;
  AlignedBuffer memory;                      ///< behind `arena`
  const WaitCondition* condition = nullptr;  ///< while it waits
  std::uint32_t site = 0;                    ///< index into Artifact::wait_sites, while it waits
};

/// Runs the program instances of one launch as fibers on the calling thread. All choices come from
/// `random`: which instance is started, and which of those that can run goes on at each wait. Of
/// each rank, at most `resident_limit` instances are started and unfinished at a time, as on a GPU.
class Scheduler {
 public:
  Scheduler(std::span<const RankLaunch> ranks, std::int64_t resident_limit, std::mt19937_64& random,
            FiberStackPool& stacks, CpuLane& lane);
  ~Scheduler();

  /// Returns when all instances have finished. Throws what the first failing instance threw, or
  /// HangError where none can run, or the interrupt check; all stacks are unwound before.
  void run();

  // For runtime functions, on the fiber of `instance`:

  static Scheduler& of(const CpuInstance& instance);
  CpuLane& lane() { return lane_; }
  /// Lets others run until the condition holds. `notify(key)` makes it be looked at again.
  void wait(CpuInstance& instance, const WaitCondition& condition, const void* key,
            std::uint32_t site);
  void notify(const void* key);
  /// Polls the launch's control if it is time to, on the launching thread's own stack. No other
  /// instance runs meanwhile.
  void check_in();

  // For reports:

  enum class Progress : std::uint8_t { kNotLaunched, kOutsideGrid, kNotStarted, kRuns, kFinished };
  Progress progress(const AwaitedInstance& instance) const;
  /// Null where it isn't started or has finished.
  const FiberTask* task(const AwaitedInstance& instance) const;
  std::span<const RankLaunch> ranks() const { return ranks_; }
  std::int64_t resident_limit() const { return resident_limit_; }

 private:
  struct RankState {
    std::vector<std::int64_t> not_started;  ///< linear program ids
    std::vector<std::unique_ptr<FiberTask>> tasks;
    std::vector<bool> finished;
    std::int64_t num_resident = 0;
  };

  std::uint64_t random_below(std::uint64_t bound);
  bool can_start(int rank) const;
  FiberTask* next();
  FiberTask* start(int rank);
  void run_instance(FiberTask& task);
  void resume(FiberTask& task);
  void suspend();
  void unwind_all();
  AlignedBuffer take_arena(int rank);

  std::span<const RankLaunch> ranks_;
  CpuCounters counters_;
  std::int64_t resident_limit_;
  std::mt19937_64& random_;
  FiberStackPool& stacks_;
  CpuLane& lane_;
  std::vector<RankState> states_;
  std::vector<std::vector<AlignedBuffer>> free_arenas_;  ///< by rank
  std::vector<FiberTask*> runnable_;
  std::multimap<const void*, FiberTask*> waiting_;  ///< equal keys stay in order of insertion
  boost::context::fiber main_;
  std::exception_ptr error_;
  LaunchControl control_;
  bool is_stopping_ = false;
  bool is_checking_in_ = false;
};

}  // namespace tilewire

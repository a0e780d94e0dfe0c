#pragma once

#include <array>
#include <atomic>
#include <boost/context/fiber.hpp>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cpu/aligned_buffer.h"
#include "runtime/cpu/fiber_stack.h"
#include "runtime/cpu/kernel.h"
#include "runtime/cpu/lane.h"
#include "runtime/cpu/launch_control.h"
#include "runtime/cpu/network.h"
#include "runtime/cpu/pace.h"

namespace tilewire {

/// What one rank of a virtual world launches.
struct RankLaunch {
  const CpuKernel* kernel = nullptr;  ///< null: this rank launches nothing
  std::array<std::int64_t, 3> grid = {1, 1, 1};
  std::vector<std::uint64_t> arguments;  ///< as `CpuEntry` says
  int lane = 0;                          ///< its number; for kernels that take one

  std::int64_t num_instances() const { return kernel == nullptr ? 0 : grid[0] * grid[1] * grid[2]; }
  /// The counters and places of the launch, all 0.
  std::vector<std::int64_t> words() const;
  /// UserError where somebody arrived at a place whose last one never came.
  void check_arrivals(std::span<const std::int64_t> words) const;
  /// Says to an instance who it is, by its linear program id.
  void place(CpuInstance& instance, int rank, std::int64_t program_id) const;
};

/// The counters of one launch, by rank: 0 when it starts.
class CpuCounters {
 public:
  explicit CpuCounters(std::span<const RankLaunch> ranks);
  std::vector<std::int64_t>& of(int rank) { return by_rank_[static_cast<std::size_t>(rank)]; }

 private:
  std::vector<std::vector<std::int64_t>> by_rank_;
};

/// An instance that another one waits for.
struct AwaitedInstance {
  int rank;
  std::int64_t program_id;  ///< linear
  bool in_task = false;     ///< its task is meant, not the rest of it
};

/// What a waiting instance waits for. Lives on that instance's stack.
class WaitCondition {
 public:
  virtual ~WaitCondition() = default;
  virtual bool is_met() const = 0;
  /// Who has to do something for it to become true; none: anybody could, and `missing` says what.
  virtual std::vector<AwaitedInstance> awaited() const { return {}; }
  /// What has come and what hasn't: `1 of 2 signals came`.
  virtual std::string missing() const { return {}; }
};

/// A started program instance, or its task: `CpuInstance` for its code, a fiber for the scheduler.
struct FiberTask : CpuInstance {
  boost::context::fiber fiber;
  AlignedBuffer memory;                      ///< behind `arena`
  const WaitCondition* condition = nullptr;  ///< while it waits
  std::uint32_t site = 0;                    ///< index into Artifact::wait_sites, while it waits
  /// How often it arrived at grid barriers: of its LSA team, of its rank alone.
  std::array<std::uint32_t, 2> grid_arrivals = {};
  Network::Ticket ticket;  ///< what the network still has to do for it
};

/// Runs the program instances of all ranks' launches as fibers, on the thread that calls. A rank
/// has one launch under way at a time, and need not wait for other ranks to begin its next one, as
/// on GPUs. All choices come from `random`: which instance is started, which of those that can run
/// goes on, and where one is interrupted for it (`Pace`). Between turns, the network may deliver
/// something; where none can run, it does. Of each rank, at most `resident_limit`
/// instances are started and unfinished at a time, as on a GPU.
class Scheduler {
 public:
  Scheduler(int world_size, std::int64_t resident_limit, std::mt19937_64& random,
            FiberStackPool& stacks, Network& network);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Begins a launch on a rank that has none under way. Runs nothing yet. The kernel is shared
  /// until the rank's next launch.
  void begin(int rank, const RankLaunch& launch, CpuLane& lane);
  bool is_under_way(int rank) const { return states_[static_cast<std::size_t>(rank)].is_under_way; }

  /// Runs instances until a launch under way has ended; says whose it was. Throws what the first
  /// failing instance threw, HangError where none can run, or what the interrupt check threw; all
  /// launches under way have ended then, and their stacks are unwound.
  int run_until_one_ends();
  /// Runs some instances, or none: what they get done while a rank's host does something. Throws
  /// what instances threw, as above.
  void run_for_a_while();
  /// `run_until_one_ends` until none is under way.
  void run();
  /// From any thread: what runs, and what would run later, fails with HangError.
  void end() { is_ended_ = true; }
  const std::atomic<bool>& is_ended() const { return is_ended_; }

  void set_resident_limit(std::int64_t limit) { resident_limit_ = limit; }

  // For runtime functions, on the fiber of `instance`:

  static Scheduler& of(const CpuInstance& instance);
  /// That of the rank's launch.
  CpuLane& lane(int rank) { return *states_[static_cast<std::size_t>(rank)].lane; }
  Network& network() { return network_; }
  /// Lets others run until the condition holds. `notify(key)` makes it be looked at again.
  void wait(CpuInstance& instance, const WaitCondition& condition, const void* key,
            std::uint32_t site);
  void notify(const void* key);
  /// Polls the launch's control if it is time to, on the launching thread's own stack. No other
  /// instance runs meanwhile.
  void check_in();
  /// Waits until the network has read what this instance put, and has brought what it gets.
  void flush(CpuInstance& instance);
  /// Before something that other instances may see, where generated code has no such place: lets
  /// others run now and then.
  void pass_access(CpuInstance& instance);
  /// The next number of the world's random sequence.
  std::uint64_t draw() { return pace_.below(UINT64_MAX); }
  /// The instance's turn is over: lets others run.
  void interrupt(CpuInstance& instance);
  /// Waits until the instance's task has ended.
  void join_task(CpuInstance& instance, std::uint32_t site);
  /// Says that this instance uses an object that one instance of a launch may use so. UserError
  /// where another one has; `what` it does goes into the message: `waits for the same semaphore`.
  void claim(const CpuInstance& instance, const void* object, std::uint32_t site,
             std::string_view what);

  // For reports:

  enum class Progress : std::uint8_t { kNotLaunched, kOutsideGrid, kNotStarted, kRuns, kFinished };
  Progress progress(const AwaitedInstance& instance) const;
  /// Null where it isn't started or has finished.
  const FiberTask* task(const AwaitedInstance& instance) const;
  /// The last launch of each rank.
  std::span<const RankLaunch> ranks() const { return ranks_; }
  std::int64_t resident_limit() const { return resident_limit_; }

 private:
  struct RankState {
    bool is_under_way = false;
    std::optional<CpuKernel> kernel;  ///< shared with the launch's
    CpuLane* lane = nullptr;
    std::vector<std::int64_t> counters;
    std::vector<std::int64_t> not_started;  ///< linear program ids
    std::vector<std::unique_ptr<FiberTask>> tasks;
    std::vector<std::unique_ptr<FiberTask>> beside;  ///< of programs with a task: those
    std::vector<bool> finished;
    std::int64_t num_resident = 0;
    std::int64_t num_unfinished = 0;
    std::vector<AlignedBuffer> free_arenas;
  };

  bool can_start(int rank) const;
  FiberTask* next();
  /// Lets those run whose condition has come to hold without a `notify`, by launches that never
  /// wait and aren't run here; whether there are any.
  bool wake_met();
  FiberTask* start(int rank);
  std::unique_ptr<FiberTask> new_fiber(int rank, std::int64_t program_id, bool in_task);
  void run_instance(FiberTask& task);
  void give_turn(FiberTask& task);
  void resume(FiberTask& task);
  void throw_error();
  void suspend();
  void unwind_all();
  AlignedBuffer take_arena(int rank);

  std::vector<RankLaunch> ranks_;
  std::int64_t resident_limit_;
  Pace pace_;
  FiberStackPool& stacks_;
  Network& network_;
  Network::Notify notify_;
  std::vector<RankState> states_;
  std::vector<FiberTask*> runnable_;
  /// Who has used an object, and at which wait site.
  struct Claim {
    AwaitedInstance instance;
    std::uint32_t site;
  };
  std::map<const void*, Claim> claims_;
  std::multimap<const void*, FiberTask*> waiting_;  ///< equal keys stay in order of insertion
  std::deque<int> ended_;                           ///< ranks whose launch has, not yet said
  boost::context::fiber main_;
  std::exception_ptr error_;
  std::optional<LaunchControl> control_;  ///< of the thread that runs instances
  std::atomic<bool> is_ended_ = false;
  bool is_stopping_ = false;
  bool is_checking_in_ = false;
};

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/cpu/fiber_stack.h"
#include "runtime/cpu/host_window.h"
#include "runtime/cpu/kernel.h"
#include "runtime/cpu/lane.h"
#include "runtime/cpu/scheduler.h"

namespace tilewire {

/// Any number of ranks in one process: windows in host memory, lanes, and a scheduler that runs
/// the program instances of all ranks. Launches from several threads take turns.
class VirtualWorld {
 public:
  /// What one GPU holds at once: two instances on each of 132 multiprocessors.
  static constexpr std::int64_t kResidentLimit = std::int64_t{132} * 2;

  /// LSA teams are consecutive ranks. UserError where `lsa_size` doesn't divide `world_size`.
  VirtualWorld(int world_size, int lsa_size, std::uint64_t seed, bool multimem = false);
  ~VirtualWorld();

  int world_size() const { return world_size_; }
  int lsa_size() const { return lsa_size_; }

  /// Of each rank, how many instances may run at once.
  std::int64_t resident_limit() const { return resident_limit_; }
  void set_resident_limit(std::int64_t limit);

  /// When it is freed, the network forgets it.
  std::shared_ptr<HostWindow> make_window(std::size_t num_bytes) const;
  /// Launches name lanes by number; lane 0 is there from the beginning. Idempotent.
  void make_lane(int number);

  /// Runs `grid` instances on every rank, with the arguments of each rank, and returns when all
  /// have finished.
  ///
  /// A kernel that never waits runs on all cores. Another one runs under the deterministic
  /// scheduler, whose choices continue the world's one random sequence. HangError where no instance
  /// can go on; a launch that fails leaves no stack behind and, if the kernel takes the lane, ends
  /// it: later launches of such kernels throw UserError. UserError where the kernel was compiled
  /// for another world, arguments are missing, or a cooperative grid can't be resident at once.
  void launch(const CpuKernel& kernel, std::int64_t grid,
              std::span<const std::vector<std::uint64_t>> arguments_of_rank);

  /// The general form: ranks may launch different grids, different kernels, or nothing.
  void launch(std::span<const RankLaunch> ranks);

  /// Begins a launch of a kernel that waits on one rank, whose earlier ones have ended; runs
  /// nothing yet. As on GPUs, a rank whose launch has ended may begin its next one, and change its
  /// memory, while the others are anywhere in theirs. Throws as `launch` does.
  void begin(int rank, const RankLaunch& launch);

  /// Runs instances of all launches under way until one of them has ended; its rank, each once.
  /// Whatever it throws ends all of them; `launch` says what that is.
  int run_until_one_ends();
  /// Runs some instances of them, or none: what they get done while a rank's host does something.
  void run_for_a_while();
  /// From any thread, for Ctrl-C: launches under way, and later ones, fail with HangError soon.
  void end() { scheduler_.end(); }
  /// Delivers what is under way in the network.
  void drain_network();
  /// Says that a rank's host changed memory that kernels may wait for at this address.
  void notify(const void* address);

 private:
  /// A lane, and why it ended; empty while it is usable.
  struct LaneState {
    CpuLane lane;
    std::string end;
  };

  void check(const RankLaunch& launch) const;
  void check_lane(const RankLaunch& launch) const;
  void begin_checked(int rank, const RankLaunch& launch);
  void run_or_end_lane(const std::function<void()>& run);

  int world_size_;
  int lsa_size_;
  bool multimem_;
  std::int64_t resident_limit_ = kResidentLimit;
  std::mutex turn_;
  std::mt19937_64 random_;
  FiberStackPool stacks_;
  std::shared_ptr<Network> network_;
  std::map<int, LaneState> lanes_;  ///< by number
  Scheduler scheduler_;
  std::map<int, int> taken_lanes_;  ///< by the launches under way: rank → lane
};

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "compiler/jit/target.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/kernel.h"
#include "runtime/nccl/capabilities.h"
#include "runtime/nccl/lane_group.h"
#include "runtime/nccl/signal_pool.h"
#include "runtime/nccl/window.h"
#include "runtime/nccl/window_pool.h"

namespace tilewire {

/// Of a GPU in a world. Multimem and the network follow from what the ranks find.
Target target_of(const Device& device, int world_size, int lsa_size);

/// The ranks that work together, as one process sees them. Under NCCL a process drives one rank
/// (`Communicator`); in a virtual world it drives all of them on one GPU (`VirtualRanks`). Calls
/// named collective must be made by all ranks, in the same order. Calls must not overlap in time.
class GpuWorld : public std::enable_shared_from_this<GpuWorld> {
 public:
  virtual ~GpuWorld() = default;
  GpuWorld(const GpuWorld&) = delete;
  GpuWorld& operator=(const GpuWorld&) = delete;

  const Device& device() const { return device_; }
  /// What kernels of this world are compiled for: multimem and the network as `capabilities` say.
  const Target& target() const { return target_; }
  /// What each rank found, and what all have together.
  const Capabilities& capabilities() const { return capabilities_; }
  int world_size() const { return target_.world_size; }
  int lsa_size() const { return target_.lsa_size; }
  /// This process's rank; 0 in a virtual world.
  int rank() const { return rank_; }
  /// Ranks that this process drives: 1, or all of a virtual world.
  virtual int num_local_ranks() const { return 1; }
  /// Contexts of the network that each kernel has: of those asked for (TILEWIRE_GIN_CONTEXTS), as
  /// many as NCCL gave every rank. 0 where the target has no GIN.
  int num_gin_contexts() const { return num_gin_contexts_; }
  /// Signals of the network, numbered from 0 on each context (TILEWIRE_GIN_SIGNALS); 0 without GIN.
  int num_gin_signals() const { return num_gin_signals_; }
  /// `sizeof(ncclDevComm)`, for `GpuKernel`.
  std::size_t device_comm_bytes() const { return device_comm_bytes_; }

  /// Collective: symmetric memory of at least one byte, not cleared, at the same place on all
  /// ranks. It keeps this world. Memory comes from registered segments: first what was given back,
  /// and what every rank has let go of (the last copy of what this returns). `call`: what the user
  /// asked for, which must be the same on all ranks: UserError names both. UserError where
  /// `stream`, the caller's current one, is being captured. `num_signals`: signals over the network
  /// that belong to what it holds (`WindowHandle::first_signal`), all 0; UserError where the
  /// communicator has none left. Without a network there are none.
  std::shared_ptr<Window> window(std::size_t num_bytes, cuda::Stream stream = nullptr,
                                 std::string_view call = "comm.window",
                                 std::uint64_t num_signals = 0);
  /// Collective: on every rank the window holds `image`, then zeros, before the call returns.
  void fill(const Window& window, std::string_view image);
  /// Collective: registers memory for later windows.
  void reserve(std::size_t num_bytes, cuda::Stream stream = nullptr);
  /// Collective: gives the GPU back what no window lies in.
  void trim(cuda::Stream stream = nullptr);
  /// Collective: gives a window's memory back. UserError where ranks name different windows.
  void free(const Window& window);

  /// Collective: the lane of this number, made at the first call. UserError where ranks ask for
  /// different ones (names both), where it was made with other options, where the budgets don't fit
  /// the GPU together, or where `stream`, the caller's current one, is being captured.
  LaneGroup& make_lane(int number, const LaneOptions& options, cuda::Stream stream = nullptr);
  /// Collective, before the first launch: the options of lane 0. Alike on all ranks, as above.
  void set_first_lane(const LaneOptions& options);
  /// A lane that was made; UserError where there is none of that number.
  LaneGroup& lane(int number) const;

  /// The largest grid of this kernel that this process's ranks can hold at once on a lane.
  /// UserError where it was compiled for what this world hasn't got.
  int grid_limit(const GpuKernel& kernel, int lane_number = 0) const;

  /// Collective: the least of all ranks' `value`s. UserError naming two ranks where their
  /// `agreement` (a hash of what must be the same everywhere) differs. `what` is for messages.
  virtual int agree_minimum(std::string_view what, std::uint64_t agreement, int value) = 0;

  /// Launches on every rank that this process drives, on `stream` as the caller sees it, and on
  /// `lane`, for a kernel that takes one. `values[local_rank * number of slots + slot]`; see
  /// `GpuKernel::launch`. The grid must have passed `GpuKernel::check_grid` with `grid_limit` and
  /// `LaneGroup::check_budget`.
  virtual void launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
                      const ArgumentValue* values, LaneGroup* lane) = 0;
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream, const ArgumentValue* values) {
    launch(kernel, grid, stream, values, kernel.takes_lane() ? &lane(0) : nullptr);
  }

  /// Collective: returns when all ranks have called it, and their GPUs have done all that was
  /// launched before. HangError where one doesn't come within TILEWIRE_TIMEOUT.
  virtual void barrier() = 0;

  /// HangError where a wait on the device has given up; UserError after `abort`.
  void check() const;
  /// Waits for this process's GPU, then `check()`.
  void synchronize() const;
  /// Makes all waiting kernels leave; afterwards only `close` is useful.
  virtual void abort();
  /// Collective where nothing has gone wrong: gives all windows and lanes back. Never blocks on a
  /// peer for longer than TILEWIRE_TIMEOUT, nor on a dead context. Idempotent.
  virtual void close() = 0;
  bool is_closed() const { return closed_; }

 protected:
  GpuWorld(const Device& device, int rank, Target target, std::size_t device_comm_bytes);

  /// Registers memory. BackendError where a rank's GPU has no room, on all of them.
  virtual std::unique_ptr<Window> allocate(std::size_t num_bytes) = 0;
  /// What ranks tell each other before they allocate.
  struct Allocation {
    std::uint64_t num_bytes;
    std::uint64_t digest;  ///< of the pool
    WindowPool::DroppedBits dropped;
  };
  virtual std::vector<Allocation> exchange(std::string_view call, const Allocation& own) {
    static_cast<void>(call);
    return {own};
  }
  /// Collective: a lane's state on all ranks, cleared.
  virtual std::unique_ptr<LaneGroup> allocate_lane(int number, const LaneOptions& options) = 0;
  /// Of the GPU's multiprocessors, those that one rank may use.
  virtual int num_sms_of_rank() const { return device_.num_sms(); }
  /// Makes sure that all ranks are about to do the same; see `window`, `free` and `make_lane`.
  virtual void agree(std::string_view what, std::uint64_t value) = 0;
  void require_not_closed(std::string_view what) const;
  void require_open(std::string_view what) const;
  void agree_on_allocation(std::string_view call, std::size_t num_bytes);
  void add_segment(std::size_t num_bytes, bool reserved);
  void remove_empty_segments();
  std::shared_ptr<Window> share(int number);
  void release_window(int number);
  std::uint64_t take_signals(std::uint64_t count, std::string_view call);
  /// Sets signals of this process's ranks to 0, before the caller meets the other ranks.
  virtual void reset_signals(std::uint64_t first, std::uint64_t count);
  LaneNetwork lane_network() const {
    return {.world_size = world_size(),
            .num_contexts = num_gin_contexts_,
            .num_signals = num_gin_signals_};
  }
  /// The end of the world where nothing went wrong, and where something did.
  void release_memory();
  void abandon_memory() noexcept;

  const Device& device_;
  int rank_;
  Target target_;
  std::size_t device_comm_bytes_;
  Capabilities capabilities_;
  int num_gin_contexts_ = 0;
  int num_gin_signals_ = 0;
  std::vector<std::unique_ptr<LaneGroup>> lanes_;    ///< in order of creation, lane 0 first
  WindowPool pool_;                                  ///< where windows lie in segments
  std::map<int, std::unique_ptr<Window>> segments_;  ///< registered memory, numbered by the pool
  std::map<int, std::shared_ptr<Window>> windows_;   ///< numbered by the pool
  SignalPool signals_;                               ///< of the network
  bool closed_ = false;
};

}  // namespace tilewire

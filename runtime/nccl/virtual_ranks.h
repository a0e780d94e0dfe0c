#pragma once

#include <memory>
#include <vector>

#include "runtime/nccl/virtual_network.h"
#include "runtime/nccl/world.h"

namespace tilewire {

/// A world of several ranks on one GPU, in one process: each rank has its own copy of every window,
/// at the distance that NCCL's structs can express, its own stream and its own state of each lane.
/// Kernels can't tell: they are those of a world of that size whose ranks all reach each other, or
/// of one in several teams, between which a network of the GPU's own stands in for NCCL's. A launch
/// starts the kernel once per rank; to the caller's stream it is one piece of work.
///
/// Launches are never cooperative here: `grid_limit` divides the GPU among the ranks, so that all
/// their program instances are resident at once where nothing else occupies it.
class VirtualRanks : public GpuWorld {
 public:
  /// Streams beyond the GPU's queues share one, and a waiting kernel would block another rank's. A
  /// world has a stream per rank and lane: `kMaxRanks` of them at most.
  /// CUDA_DEVICE_MAX_CONNECTIONS, 8 where it is not set, says how many there are.
  static constexpr int kMaxRanks = 8;

  /// In LSA teams of `lsa_size`; 0: all in one. UserError where `world_size` is not in 1 …
  /// kMaxRanks or teams of that size don't fill it.
  static std::shared_ptr<VirtualRanks> create(int world_size, int device_ordinal, int lsa_size = 0);
  ~VirtualRanks() override;

  int num_local_ranks() const override { return world_size(); }
  int agree_minimum(std::string_view what, std::uint64_t agreement, int value) override;
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream, const ArgumentValue* values,
              LaneGroup* lane) override;
  /// These ranks never come: later launches leave them out. For tests of what the others do then.
  void leave_out(const std::vector<int>& ranks);
  /// Launches on these ranks only. `lane`: null for lane 0, if the kernel takes one.
  void launch_on(const std::vector<int>& ranks, const GpuKernel& kernel, int grid,
                 cuda::Stream stream, const ArgumentValue* values, LaneGroup* lane = nullptr);
  void barrier() override;
  void close() override;

 protected:
  std::unique_ptr<Window> allocate(std::size_t num_bytes) override;
  void agree(std::string_view what, std::uint64_t value) override;
  std::unique_ptr<LaneGroup> allocate_lane(int number, const LaneOptions& options) override;
  std::vector<Allocation> exchange(std::string_view call, const Allocation& own) override;
  void reset_signals(std::uint64_t first, std::uint64_t count) override;
  int num_sms_of_rank() const override { return device_.num_sms() / world_size(); }

 private:
  /// What launches of one lane run on, so that lanes don't wait for each other.
  struct RankStreams {
    RankStreams(const Device& device, int num_ranks);
    void abandon() noexcept;

    std::vector<std::unique_ptr<OwnedStream>> streams;  ///< one per rank
    std::vector<std::unique_ptr<OwnedEvent>> done;      ///< one per rank
    std::unique_ptr<OwnedEvent> start;
  };

  VirtualRanks(const Device& device, Target target);
  void abandon() noexcept;
  /// What ranks have asked the network for is there, in memory that may be given to others next.
  void deliver();
  RankStreams& streams_of(const LaneGroup* lane);
  void launch_rank(int rank, const GpuKernel& kernel, int grid, const ArgumentValue* values,
                   LaneGroup* lane, cuda::Stream stream);

  std::vector<int> all_ranks_;
  std::vector<int> present_ranks_;           ///< that launches start
  std::unique_ptr<VirtualNetwork> network_;  ///< null: there is one team
  std::vector<std::vector<std::byte>> device_comms_;
  std::vector<std::unique_ptr<RankStreams>> streams_;  ///< as `lanes_`; the first one's for no lane
};

}  // namespace tilewire

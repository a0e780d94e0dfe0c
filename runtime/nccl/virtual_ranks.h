#pragma once

#include <memory>
#include <vector>

#include "runtime/nccl/world.h"

namespace tilewire {

/// A world of several ranks on one GPU, in one process: each rank has its own copy of every window,
/// at the distance that NCCL's structs can express, its own stream and its own lane. Kernels can't
/// tell: they are those of a world of that size whose ranks all reach each other. A launch starts
/// the kernel once per rank; to the caller's stream it is one piece of work.
///
/// Launches are never cooperative here: `grid_limit` divides the GPU among the ranks, so that all
/// their program instances are resident at once where nothing else occupies it.
class VirtualRanks : public GpuWorld {
 public:
  /// Streams beyond the GPU's queues share one, and a waiting kernel would block another rank's.
  /// CUDA_DEVICE_MAX_CONNECTIONS, 8 where it is not set, says how many there are.
  static constexpr int kMaxRanks = 8;

  /// UserError where `world_size` is not in 1 … kMaxRanks.
  static std::shared_ptr<VirtualRanks> create(int world_size, int device_ordinal);
  ~VirtualRanks() override;

  int agree_minimum(std::string_view what, std::uint64_t agreement, int value) override;
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
              const ArgumentValue* values) override;
  /// These ranks never come: later launches leave them out. For tests of what the others do then.
  void leave_out(const std::vector<int>& ranks);
  /// Launches on these ranks only.
  void launch_on(const std::vector<int>& ranks, const GpuKernel& kernel, int grid,
                 cuda::Stream stream, const ArgumentValue* values);
  void barrier() override;
  void close() override;

 protected:
  std::unique_ptr<Window> allocate(std::size_t num_bytes) override;
  void agree_on_window(std::string_view what, std::uint64_t value) override;

 private:
  VirtualRanks(const Device& device, Target target);
  void make_lanes();
  void abandon() noexcept;
  void launch_rank(int rank, const GpuKernel& kernel, int grid, const ArgumentValue* values);

  std::vector<int> all_ranks_;
  std::vector<int> present_ranks_;                     ///< that launches start
  std::vector<std::unique_ptr<OwnedStream>> streams_;  ///< one per rank
  std::vector<std::unique_ptr<OwnedEvent>> done_;      ///< one per rank
  std::unique_ptr<OwnedEvent> start_;
  std::vector<std::vector<std::byte>> device_comms_;
  std::unique_ptr<Window> lane_window_;
};

}  // namespace tilewire

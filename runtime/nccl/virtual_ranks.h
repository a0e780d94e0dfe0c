#pragma once

#include <memory>
#include <vector>

#include "runtime/nccl/world.h"

namespace tilewire {

/// A world of several ranks on one GPU, in one process: each rank has its own copy of every window,
/// at the distance that NCCL's structs can express, its own stream and its own lane. Kernels can't
/// tell: they are those of a world of that size whose ranks all reach each other. A launch starts
/// the kernel once per rank; `stream` waits for all of them.
class VirtualRanks : public GpuWorld {
 public:
  /// The most ranks whose streams are sure to run side by side.
  static constexpr int kMaxRanks = 8;

  /// UserError where `world_size` is not in 1 … kMaxRanks.
  static std::shared_ptr<VirtualRanks> create(int world_size, int device_ordinal);
  ~VirtualRanks() override;

  int agree_minimum(std::string_view what, std::uint64_t agreement, int value) override;
  void launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
              const ArgumentValue* values) override;
  /// Launches on the local ranks in the list only: what happens when others never come.
  void launch_on(const std::vector<int>& local_ranks, const GpuKernel& kernel, int grid,
                 cuda::Stream stream, const ArgumentValue* values);
  void barrier() override;
  void close() override;

 protected:
  std::unique_ptr<Window> allocate(std::size_t num_bytes) override;
  void agree_on_window(std::string_view what, std::uint64_t value) override;

 private:
  struct State;
  VirtualRanks(const Device& device, Target target, std::size_t device_comm_bytes);
  void make_lanes();

  std::unique_ptr<State> state_;
};

}  // namespace tilewire

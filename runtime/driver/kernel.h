#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/jit/artifact.h"
#include "runtime/driver/argument_layout.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/grid.h"
#include "runtime/driver/launch_counters.h"
#include "runtime/driver/tensor_map.h"
#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// More arguments than this in one kernel are refused when it is loaded.
inline constexpr std::size_t kMaxArguments = 128;
inline constexpr std::size_t kMaxTensorMaps = 16;  ///< so, of tensor maps

/// What a kernel takes besides the caller's values: it comes from the lane it runs on.
struct LaunchContext {
  const void* device_comm = nullptr;   ///< `ncclDevComm`, as opaque bytes; kDeviceComm slots
  const device::Lane* lane = nullptr;  ///< kLane slots; `site_base` is the kernel's own. Its ranks
                                       ///< alone, where the kernel takes no lane
  /// The caller promises that nothing else on this GPU waits meanwhile: no cooperative attribute.
  bool exclusive = false;
  int lsa_rank = 0;  ///< of the launch's rank in its LSA team; kTensorMap slots
};

/// A compiled kernel on one GPU, loaded and ready to launch. Immutable, and shared by all threads.
class GpuKernel {
 public:
  /// Loads the artifact's cubin. `device_comm_bytes` is `sizeof(ncclDevComm)` of the NCCL in use;
  /// 0 where the kernel takes none. UserError where the target's architecture isn't this GPU's;
  /// BackendError where the driver refuses the cubin; InternalError where the kernel's parameters
  /// aren't laid out as the artifact says.
  GpuKernel(const Device& device, std::shared_ptr<const Artifact> artifact,
            std::size_t device_comm_bytes = 0);
  GpuKernel(const GpuKernel&) = delete;
  GpuKernel& operator=(const GpuKernel&) = delete;

  const Artifact& artifact() const { return *artifact_; }
  const Device& device() const { return device_; }
  const ArgumentLayout& layout() const { return layout_; }
  bool takes_lane() const { return artifact_->resources.lane; }

  /// CTAs of this kernel that the GPU holds at once when it runs nothing else.
  int max_coresident_grid() const { return max_coresident_grid_; }

  /// `tw.auto`: the largest useful grid that is co-resident, at least 1. `extents` are the values
  /// of `Program::dimensions`. `limit` caps it further (the least over ranks, a lane's slots); 0:
  /// no cap.
  int auto_grid(std::span<const std::int64_t> extents, int limit = 0) const;

  /// What all ranks of a two-sided launch must have alike, in 32 bits; 0 for one-sided kernels. It
  /// is registered with its name, for reports.
  std::uint32_t launch_hash(int grid, const ArgumentValue* values) const;

  /// UserError where `grid` is below 1, where it isn't one of whole clusters, or where this kernel
  /// waits for other CTAs and more than `limit` of them (0: `max_coresident_grid()`) could not run
  /// at once; says which grid fits.
  void check_grid(std::int64_t grid, int limit = 0) const;

  /// Launches on `stream`. One value per slot of `Artifact::arguments`; those of kDeviceComm and
  /// kLane slots are ignored and come from `context`; kCounters come from the kernel's own memory
  /// for the stream, tensor maps from the values of the arrays that they describe, or from the
  /// kernel's cache. The hot path: without kCounters no allocation, no lock, no
  /// look-up. The grid must have passed `check_grid`. UserError where a tensor map can't describe
  /// an argument.
  void launch(int grid, cuda::Stream stream, const ArgumentValue* values,
              const LaunchContext& context = {}) const;

 private:
  void load();
  void prepare_maps();
  void launch_with(const device::TensorMap* maps, int grid, cuda::Stream stream,
                   const ArgumentValue* values, const LaunchContext& context) const;
  std::int64_t num_words(const ArgumentValue* values) const;
  void check_parameters() const;
  void measure();

  const Device& device_;
  std::shared_ptr<const Artifact> artifact_;
  ArgumentLayout layout_;
  int device_comm_slot_;
  int lane_slot_;
  int counters_slot_;
  int extents_slot_ = 0;  ///< the first one, of kernels with counters
  const cuda::Api* api_ = nullptr;
  struct UnloadModule {
    const Device* device;
    void operator()(cuda::Module module) const;
  };
  std::unique_ptr<std::remove_pointer_t<cuda::Module>, UnloadModule> module_{
      nullptr, UnloadModule{&device_}};
  cuda::Function function_ = nullptr;
  std::unique_ptr<LaunchCounters> counters_;    ///< null: it has no counters
  std::unique_ptr<TensorMaps> maps_;            ///< null: it has none
  std::vector<std::pair<int, int>> map_slots_;  ///< slot and index of its map
  int max_coresident_grid_ = 0;
  std::uint32_t site_base_ = 0;
  mutable std::atomic<std::uint32_t> registered_hash_ = 0;  ///< the last one
};

}  // namespace tilewire

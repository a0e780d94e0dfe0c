#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bindings/signature.h"
#include "compiler/jit/artifact.h"
#include "runtime/driver/kernel.h"

namespace tilewire {
class GpuWorld;  // runtime/nccl/world.h
}

namespace tilewire::bindings {

/// One compiled form of a kernel, ready to launch on one GPU and lane: what every launch on a GPU
/// ends in.
class LaunchTarget {
 public:
  virtual ~LaunchTarget() = default;
  virtual const Artifact& artifact() const = 0;
  /// The GPU that all arguments must be on.
  virtual int device_index() const = 0;
  /// The communicator that windows must belong to; null: any, for kernels that take no lane.
  virtual const void* communicator() const = 0;
  /// The lane it runs on, as windows name theirs; null: the kernel takes none.
  virtual const void* lane() const = 0;
  /// Whether calls whose arguments name no lane run on that one.
  virtual bool serves_unnamed() const = 0;
  /// The grid of `tw.auto` for run-time extents in the order of `Artifact::dimensions`.
  virtual int auto_grid(std::span<const std::int64_t> extents) const = 0;
  /// UserError where such a grid can't run, or the lane's budget doesn't allow it.
  virtual void check_grid(std::int64_t grid) const = 0;
  /// One value per slot of `Artifact::arguments`; those of kDeviceComm, kLane, kCounters and
  /// kTensorMap are the target's own. Needs no GIL; calls may come from several threads at once.
  virtual void launch(int grid, std::uintptr_t stream, const ArgumentValue* values) = 0;
};

/// A kernel on a lane of `world`, or on no lane where it takes none or `world` is null.
/// `grid_limit`: the least over ranks of what can be resident (`GpuWorld::grid_limit`, agreed), for
/// `tw.auto`; 0: no limit. `serves_unnamed`: see `LaunchTarget`.
std::shared_ptr<LaunchTarget> make_launch_target(std::shared_ptr<GpuWorld> world,
                                                 std::shared_ptr<GpuKernel> kernel, int grid_limit,
                                                 int lane, bool serves_unnamed);

/// The values of the artifact's slots for bound arguments.
std::vector<ArgumentValue> values_of(const Artifact& artifact, const BoundArguments& bound);

/// Checks `values` as `bind_arguments` does and launches: the slow path, with good messages. No
/// grid: `tw.auto`. No stream: the framework's current one. Releases the GIL while it launches.
void launch(LaunchTarget& target, std::optional<int> grid,
            const std::vector<pybind11::object>& values, std::optional<std::uintptr_t> stream);

/// Adds `LaunchTarget(world, kernel, grid_limit, lane, serves_unnamed)` with `launch(grid, values,
/// stream)`.
void bind_launch_target(pybind11::module_& module);

/// Adds `RecordingTarget(artifact, device_index, communicator, grid_limit, lane, …)`: a target that
/// starts nothing and remembers the last launch, to test and to measure the launch path where there
/// is no GPU; and `describe(program, target)`: an artifact without its code.
void bind_recording_target(pybind11::module_& module);

}  // namespace tilewire::bindings

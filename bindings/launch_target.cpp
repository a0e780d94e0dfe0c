#include "bindings/launch_target.h"

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <mutex>
#include <utility>

#include "bindings/current_stream.h"
#include "compiler/support/error.h"
#include "runtime/nccl/world.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

class KernelTarget : public LaunchTarget {
 public:
  KernelTarget(std::shared_ptr<GpuWorld> world, std::shared_ptr<GpuKernel> kernel, int grid_limit,
               LaneGroup* lane, bool serves_unnamed)
      : world_(std::move(world)),
        kernel_(std::move(kernel)),
        grid_limit_(grid_limit),
        lane_(lane),
        serves_unnamed_(serves_unnamed) {}

  const Artifact& artifact() const override { return kernel_->artifact(); }
  int device_index() const override { return kernel_->device().ordinal(); }
  const void* communicator() const override { return world_.get(); }
  const void* lane() const override { return lane_; }
  bool serves_unnamed() const override { return serves_unnamed_; }
  int auto_grid(std::span<const std::int64_t> extents) const override {
    return kernel_->auto_grid(extents, grid_limit_);
  }

  void check_grid(std::int64_t grid) const override {
    if (lane_ != nullptr) lane_->check_budget(kernel_->artifact(), grid);
    kernel_->check_grid(grid, grid_limit_);
  }

  void launch(int grid, std::uintptr_t stream, const ArgumentValue* values) override {
    const auto handle = reinterpret_cast<cuda::Stream>(stream);
    if (world_ == nullptr) {
      kernel_->launch(grid, handle, values);
      return;
    }
    if (lane_ == nullptr || world_->is_closed()) {
      world_->launch(*kernel_, grid, handle, values, nullptr);
      return;
    }
    // Calls on one lane must not overlap, and this one may come without the GIL.
    const std::lock_guard lock(lane_->mutex);
    world_->launch(*kernel_, grid, handle, values, lane_);
  }

 private:
  std::shared_ptr<GpuWorld> world_;
  std::shared_ptr<GpuKernel> kernel_;
  int grid_limit_;
  LaneGroup* lane_;  ///< lives until the world is closed
  bool serves_unnamed_;
};

}  // namespace

std::shared_ptr<LaunchTarget> make_launch_target(std::shared_ptr<GpuWorld> world,
                                                 std::shared_ptr<GpuKernel> kernel, int grid_limit,
                                                 int lane, bool serves_unnamed) {
  if (world != nullptr && world->num_local_ranks() != 1) {
    throw InternalError("a launch target drives one rank, this world has several in the process");
  }
  LaneGroup* group = world != nullptr && kernel->takes_lane() ? &world->lane(lane) : nullptr;
  return std::make_shared<KernelTarget>(std::move(world), std::move(kernel), grid_limit, group,
                                        serves_unnamed);
}

std::vector<ArgumentValue> values_of(const Artifact& artifact, const BoundArguments& bound) {
  std::vector<ArgumentValue> values(artifact.arguments.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ArgumentSlot& slot = artifact.arguments[i];
    const auto index = static_cast<std::size_t>(slot.index);
    switch (slot.kind) {
      case ArgumentSlot::Kind::kTensor:
        values[i].pointer = reinterpret_cast<std::uintptr_t>(bound.arguments.at(index).array.data);
        break;
      case ArgumentSlot::Kind::kWindow:
        values[i].window = bound.arguments.at(index).window->handle;
        break;
      case ArgumentSlot::Kind::kScalar:
        values[i].scalar = bound.scalars.at(index);
        break;
      case ArgumentSlot::Kind::kExtent:
        values[i].integer = bound.dimensions.at(index);
        break;
      case ArgumentSlot::Kind::kStride:
        values[i].integer = bound.arguments.at(index).array.strides[slot.dimension];
        break;
      case ArgumentSlot::Kind::kDeviceComm:
      case ArgumentSlot::Kind::kLane:
      case ArgumentSlot::Kind::kCounters:
      case ArgumentSlot::Kind::kTensorMap:
        break;
    }
  }
  return values;
}

namespace {

void check_lane(const LaunchTarget& target, const BoundArguments& bound) {
  if (target.lane() == nullptr) return;
  const Artifact& artifact = target.artifact();
  for (std::size_t i = 0; i < bound.arguments.size(); ++i) {
    const WindowObject* window = bound.arguments[i].window;
    if (window == nullptr || window->lane == nullptr || window->lane == target.lane()) continue;
    throw UserError(fmt::format(
        "kernel `{}`: argument `{}` is on another lane than the one this launch runs on",
        artifact.kernel, artifact.parameters[i].name));
  }
}

}  // namespace

void launch(LaunchTarget& target, std::optional<int> grid, const std::vector<py::object>& values,
            std::optional<std::uintptr_t> stream) {
  const Artifact& artifact = target.artifact();
  if (!stream) {
    stream = current_stream(target.device_index(), nullptr);
    if (!stream) throw py::error_already_set();
  }
  const BoundArguments bound =
      bind_arguments(artifact.kernel, artifact.parameters, artifact.dimensions, artifact.written,
                     artifact.target, values, stream);
  for (std::size_t i = 0; i < bound.arguments.size(); ++i) {
    const Argument& argument = bound.arguments[i];
    if (argument.kind == Argument::Kind::kScalar) continue;
    const int index = argument.array.device.index;
    if (index >= 0 && index != target.device_index()) {
      throw UserError(
          fmt::format("kernel `{}`: argument `{}` is on {}, but this launch runs on "
                      "cuda:{}",
                      artifact.kernel, artifact.parameters[i].name,
                      argument.array.device.to_string(), target.device_index()));
    }
    if (argument.kind == Argument::Kind::kWindow && target.communicator() != nullptr &&
        argument.window->communicator != target.communicator()) {
      throw UserError(
          fmt::format("kernel `{}`: argument `{}` is a window of another communicator "
                      "than the one this launch runs on",
                      artifact.kernel, artifact.parameters[i].name));
    }
  }
  check_lane(target, bound);
  if (!satisfies(bound.facts, artifact.facts)) {
    throw InternalError(fmt::format(
        "kernel `{}` was compiled for arguments of other strides or alignment", artifact.kernel));
  }
  const std::vector<ArgumentValue> slots = values_of(artifact, bound);
  const int size = grid ? *grid : target.auto_grid(bound.dimensions);
  const py::gil_scoped_release release;
  target.launch(size, *stream, slots.data());
}

void bind_launch_target(py::module_& module) {
  py::class_<LaunchTarget, std::shared_ptr<LaunchTarget>>(
      module, "LaunchTarget", "One compiled form of a kernel, ready to launch on one GPU and lane.")
      .def(py::init(&make_launch_target), py::arg("world").none(true), py::arg("kernel"),
           py::arg("grid_limit") = 0, py::arg("lane") = 0, py::arg("serves_unnamed") = true,
           "`world`: whose lane (of number `lane`) the kernel runs on, or None for a kernel that "
           "takes none. `grid_limit`: caps `tw.auto`; 0: no limit. `serves_unnamed`: also for "
           "arguments that are on no lane.")
      .def(
          "auto_grid",
          [](const LaunchTarget& self, const std::vector<std::int64_t>& extents) {
            return self.auto_grid(extents);
          },
          py::arg("extents"), "What `tw.auto` is for these run-time dimensions.")
      .def("check_grid", &LaunchTarget::check_grid, py::arg("grid"),
           "UserError where such a grid can't run.")
      .def("launch", &launch, py::arg("grid"), py::arg("values"), py::arg("stream") = py::none(),
           "Checks the arguments (in the order of the artifact's parameters) and launches. `grid`: "
           "an int, or None for `tw.auto`. `stream`: a handle, or None for the framework's current "
           "one.");
}

}  // namespace tilewire::bindings

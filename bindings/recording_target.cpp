#include <algorithm>
#include <string>
#include <utility>

#include "bindings/bindings.h"
#include "bindings/launch_target.h"
#include "compiler/passes/lower.h"
#include "compiler/support/error.h"
#include "runtime/driver/argument_layout.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

class RecordingTarget : public LaunchTarget {
 public:
  RecordingTarget(std::shared_ptr<Artifact> artifact, int device_index, std::uintptr_t communicator,
                  int grid_limit, std::uintptr_t lane, bool serves_unnamed)
      : artifact_(std::move(artifact)),
        device_index_(device_index),
        communicator_(reinterpret_cast<const void*>(communicator)),
        grid_limit_(grid_limit),
        lane_(reinterpret_cast<const void*>(lane)),
        serves_unnamed_(serves_unnamed),
        values_(artifact_->arguments.size()) {}

  const Artifact& artifact() const override { return *artifact_; }
  int device_index() const override { return device_index_; }
  const void* communicator() const override { return communicator_; }
  const void* lane() const override { return lane_; }
  bool serves_unnamed() const override { return serves_unnamed_; }
  int auto_grid(std::span<const std::int64_t> extents) const override {
    return choose_grid(*artifact_, extents, grid_limit_);
  }
  void check_grid(std::int64_t grid) const override {
    tilewire::check_grid(*artifact_, grid, grid_limit_);
  }
  void launch(int grid, std::uintptr_t stream, const ArgumentValue* values) override {
    if (!failure_.empty()) throw BackendError(failure_);
    ++num_launches_;
    grid_ = grid;
    stream_ = stream;
    std::copy_n(values, values_.size(), values_.begin());
  }

  /// The bytes of a slot as the kernel would get them; none for what the runtime fills in.
  py::bytes slot(std::size_t index) const {
    const auto layout = ArgumentLayout::of(*artifact_, kDeviceCommBytes);
    const std::size_t size = std::min(layout.slots.at(index).size, sizeof(ArgumentValue));
    const ArgumentSlot::Kind kind = artifact_->arguments.at(index).kind;
    const bool is_own =
        kind != ArgumentSlot::Kind::kDeviceComm && kind != ArgumentSlot::Kind::kLane &&
        kind != ArgumentSlot::Kind::kCounters && kind != ArgumentSlot::Kind::kTensorMap;
    return py::bytes(reinterpret_cast<const char*>(&values_[index]), is_own ? size : 0);
  }

  std::size_t num_slots() const { return values_.size(); }
  int num_launches() const { return num_launches_; }
  int grid() const { return grid_; }
  std::uintptr_t stream() const { return stream_; }
  void fail_with(std::string message) { failure_ = std::move(message); }

 private:
  static constexpr std::size_t kDeviceCommBytes = 8;  // any: only the other slots are looked at

  std::shared_ptr<Artifact> artifact_;
  int device_index_;
  const void* communicator_;
  int grid_limit_;
  const void* lane_;
  bool serves_unnamed_;
  std::vector<ArgumentValue> values_;
  int num_launches_ = 0;
  int grid_ = 0;
  std::uintptr_t stream_ = 0;
  std::string failure_;
};

}  // namespace

void bind_recording_target(py::module_& module) {
  py::class_<RecordingTarget, LaunchTarget, std::shared_ptr<RecordingTarget>>(
      module, "RecordingTarget",
      "A target that starts nothing and remembers the last launch: to test and to measure the "
      "launch path where there is no GPU.")
      .def(py::init<std::shared_ptr<Artifact>, int, std::uintptr_t, int, std::uintptr_t, bool>(),
           py::arg("artifact"), py::arg("device_index") = 0, py::arg("communicator") = 0,
           py::arg("grid_limit") = 0, py::arg("lane") = 0, py::arg("serves_unnamed") = true)
      .def_property_readonly("num_launches", &RecordingTarget::num_launches)
      .def_property_readonly("grid", &RecordingTarget::grid)
      .def_property_readonly("stream", &RecordingTarget::stream)
      .def("fail_with", &RecordingTarget::fail_with, py::arg("message"),
           "Every later launch is a BackendError with this message; none where it is empty.")
      .def_property_readonly("num_slots", &RecordingTarget::num_slots)
      .def("slot", &RecordingTarget::slot, py::arg("index"),
           "The bytes of a slot of the artifact in the last launch.");
  module.def(
      "describe",
      [](PythonProgram& program, const Target& target) {
        return std::make_shared<Artifact>(describe(lower(program.take(), target), target));
      },
      py::arg("program"), py::arg("target"),
      "The artifact of a program without its code; uses the program up.");
}

}  // namespace tilewire::bindings

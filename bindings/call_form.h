#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "bindings/launch_target.h"

namespace tilewire::bindings {

/// A call's arguments as its frameworks describe them, in the order of the artifact's parameters.
/// Plain data on the stack of a launch, on purpose without initialisers; a cache line each.
struct CallArguments {
  static constexpr std::size_t kMaxParameters = 32;

  struct One {
    dlpack::Tensor tensor;  ///< tensors, and windows passed for one; shape and strides: not owned
    union {
      const WindowObject* window;  ///< windows
      PyObject* scalar;            ///< scalars
    };
    bool read_only;  ///< tensors
  };
  One parameters[kMaxParameters];
};
static_assert(sizeof(CallArguments::One) == 64);

/// One compiled form of a kernel with what calls must look like to be served by it: the checks of
/// `bind_arguments` without their messages, and those that tell forms apart. The hot path.
class CallForm {
 public:
  /// `grid`: absent for `tw.auto`. `constants`: the value of each `tw.const` parameter, in order.
  /// `facts`: what the arguments' facts must be, so that a better form is made where they differ;
  /// absent: any that the artifact is right for.
  CallForm(std::shared_ptr<LaunchTarget> target, std::optional<int> grid,
           std::vector<pybind11::object> constants, std::optional<LocalFacts> facts);

  /// Whether this form is right for these arguments; fills `values` (room for `kMaxArguments`) and
  /// `grid` where it is. Leaves no Python exception.
  bool serves(const CallArguments& arguments, ArgumentValue* values, int& grid) const;

  /// Whether the constants passed (null: left out, and without a default) are this form's. May run
  /// Python code that compares them, unless they are the very same objects (`are_identical`).
  bool has_constants(PyObject* const* passed) const;
  bool are_identical(PyObject* const* passed) const;

  const std::shared_ptr<LaunchTarget>& target() const { return target_; }
  int device_index() const { return device_index_; }
  bool waits() const { return waits_; }
  std::span<const pybind11::object> constants() const { return constants_; }
  int traverse(visitproc visit, void* context) const;

 private:
  struct ParameterPlan {
    Parameter::Kind kind;
    DType dtype;
    dlpack::DataType code;  ///< of `dtype`
    int rank;
    bool written;
    bool exact;  ///< the facts must be these, else at least these
    bool contiguous;
    int alignment;
    bool local_only;
    bool asks_for_map;  ///< `mappable` counts
    bool mappable;
    std::int64_t rotate;             ///< windows
    const ChannelType* channel;      ///< of the artifact; channels only
    std::int64_t extents[kMaxRank];  ///< kDynamic: the run-time dimension in `dimensions`
    int dimensions[kMaxRank];
  };

  bool takes_each_once(const CallArguments& arguments) const;
  bool window_fits(const ParameterPlan& plan, const WindowObject& window,
                   std::int64_t* dimensions) const;
  bool tensor_fits(const ParameterPlan& plan, const CallArguments::One& argument,
                   std::int64_t* dimensions) const;
  bool fill(const CallArguments& arguments, const std::int64_t* dimensions,
            ArgumentValue* values) const;

  std::shared_ptr<LaunchTarget> target_;
  std::optional<int> grid_;
  std::vector<pybind11::object> constants_;
  std::vector<ParameterPlan> plans_;
  std::vector<std::size_t> counted_;  ///< parameters whose launches are counted
  std::vector<ArgumentSlot> slots_;
  std::size_t num_dimensions_;
  const void* communicator_;
  const void* lane_;  ///< null: the kernel takes none
  bool serves_unnamed_;
  int device_index_;
  bool waits_;
};

}  // namespace tilewire::bindings

#include "bindings/call_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

constexpr std::size_t kMaxDimensions = CallArguments::kMaxParameters * kMaxRank;

bool repeats_elements(const ArrayArgument& array) {
  for (int i = 0; i < array.rank; ++i) {
    if (array.shape[i] > 1 && array.strides[i] == 0) return true;
  }
  return false;
}

}  // namespace

CallForm::CallForm(std::shared_ptr<LaunchTarget> target, std::optional<int> grid,
                   std::vector<py::object> constants, std::optional<LocalFacts> facts)
    : target_(std::move(target)), grid_(grid), constants_(std::move(constants)) {
  const Artifact& artifact = target_->artifact();
  if (artifact.parameters.size() > CallArguments::kMaxParameters ||
      artifact.arguments.size() > kMaxArguments) {
    throw InternalError(fmt::format("kernel `{}` has too many parameters to launch from C++ alone",
                                    artifact.kernel));
  }
  for (std::size_t i = 0; i < artifact.parameters.size(); ++i) {
    const Parameter& parameter = artifact.parameters[i];
    const LocalFacts& known = facts ? *facts : artifact.facts;
    ParameterPlan plan{};
    plan.kind = parameter.kind;
    plan.dtype = parameter.dtype;
    plan.rank = static_cast<int>(parameter.shape.size());
    plan.written = i < artifact.written.size() && artifact.written[i];
    plan.exact = facts.has_value();
    plan.contiguous = i < known.contiguous.size() && known.contiguous[i];
    plan.alignment = i < known.alignment.size() ? known.alignment[i] : num_bytes(plan.dtype);
    for (std::size_t d = 0; d < parameter.shape.size(); ++d) {
      const auto& names = artifact.dimensions;
      const auto found = std::find(names.begin(), names.end(), parameter.shape[d].name);
      plan.extents[d] = parameter.shape[d].size;
      plan.dimensions[d] = static_cast<int>(found - names.begin());
      if (plan.extents[d] == kDynamic && found == names.end()) {
        throw InternalError(fmt::format("kernel `{}` has no dimension `{}`", artifact.kernel,
                                        parameter.shape[d].name));
      }
    }
    plans_.push_back(plan);
  }
  slots_ = artifact.arguments;
  num_dimensions_ = artifact.dimensions.size();
  communicator_ = target_->communicator();
  device_index_ = target_->device_index();
  waits_ = artifact.resources.waits;
}

int CallForm::traverse(visitproc visit, void* arg) const {
  for (const py::object& constant : constants_) Py_VISIT(constant.ptr());
  return 0;
}

bool CallForm::has_constants(PyObject* const* passed) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    PyObject* own = constants_[i].ptr();
    if (passed[i] == nullptr || passed[i] == own) continue;
    // The same type, since True == 1 == 1.0 and these compile to different code.
    if (Py_TYPE(passed[i]) != Py_TYPE(own)) return false;
    const int equal = PyObject_RichCompareBool(passed[i], own, Py_EQ);
    if (equal < 0) PyErr_Clear();
    if (equal != 1) return false;
  }
  return true;
}

bool CallForm::array_fits(const ParameterPlan& plan, const ArrayArgument& array) const {
  if (array.device.kind != DeviceKind::kCuda) return false;
  if (array.device.index != device_index_ && array.device.index >= 0) return false;
  const bool contiguous = array.is_contiguous();
  const int alignment = array.alignment();
  if (plan.exact ? contiguous != plan.contiguous || alignment != plan.alignment
                 : contiguous < plan.contiguous || alignment < plan.alignment) {
    return false;
  }
  return !plan.written || (!array.read_only && (contiguous || !repeats_elements(array)));
}

bool CallForm::fits(const ParameterPlan& plan, const CallArguments::One& argument,
                    std::int64_t* dimensions) const {
  const std::int64_t* shape = argument.array.shape;
  if (plan.kind == Parameter::Kind::kWindow) {
    const WindowObject& window = *argument.window;
    if (window.dtype != plan.dtype || window.shape.size() != static_cast<std::size_t>(plan.rank) ||
        window.device != ArrayDevice{DeviceKind::kCuda, device_index_} ||
        (communicator_ != nullptr && window.communicator != communicator_)) {
      return false;
    }
    shape = window.shape.data();
  } else if (argument.array.dtype != plan.dtype || argument.array.rank != plan.rank ||
             !array_fits(plan, argument.array)) {
    return false;
  }
  for (int i = 0; i < plan.rank; ++i) {
    if (plan.extents[i] != kDynamic) {
      if (plan.extents[i] != shape[i]) return false;
      continue;
    }
    std::int64_t& dimension = dimensions[plan.dimensions[i]];
    if (dimension == kDynamic) dimension = shape[i];
    if (dimension != shape[i]) return false;
  }
  return true;
}

bool CallForm::fill(const CallArguments& arguments, const std::int64_t* dimensions,
                    ArgumentValue* values) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ArgumentSlot& slot = slots_[i];
    const CallArguments::One* parameters = arguments.parameters;
    switch (slot.kind) {
      case ArgumentSlot::Kind::kTensor:
        values[i].pointer = reinterpret_cast<std::uintptr_t>(parameters[slot.index].array.data);
        break;
      case ArgumentSlot::Kind::kWindow:
        values[i].window = parameters[slot.index].window->handle;
        break;
      case ArgumentSlot::Kind::kScalar:
        if (!try_read_scalar(parameters[slot.index].scalar, plans_[slot.index].dtype,
                             values[i].scalar)) {
          return false;
        }
        break;
      case ArgumentSlot::Kind::kExtent:
        values[i].integer = dimensions[slot.index];
        break;
      case ArgumentSlot::Kind::kStride:
        values[i].integer = parameters[slot.index].array.strides[slot.dimension];
        break;
      case ArgumentSlot::Kind::kDeviceComm:
      case ArgumentSlot::Kind::kLane:
        break;
    }
  }
  return true;
}

bool CallForm::serves(const CallArguments& arguments, ArgumentValue* values, int& grid) const {
  std::int64_t dimensions[kMaxDimensions];
  std::fill_n(dimensions, num_dimensions_, kDynamic);
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const ParameterPlan& plan = plans_[i];
    if (plan.kind == Parameter::Kind::kScalar) continue;
    if (!fits(plan, arguments.parameters[i], dimensions)) return false;
  }
  if (!fill(arguments, dimensions, values)) return false;
  grid = grid_ ? *grid_ : target_->auto_grid({dimensions, num_dimensions_});
  return true;
}

}  // namespace tilewire::bindings

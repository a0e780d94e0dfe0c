#include "bindings/call_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "compiler/jit/tensor_map.h"
#include "compiler/support/error.h"
#include "runtime/nccl/window_ranges.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

constexpr std::size_t kMaxDimensions = CallArguments::kMaxParameters * kMaxRank;

/// Whether a dimension has the extent that is compiled in, or the one that its name has in this
/// call so far.
bool extent_fits(std::int64_t extent, std::int64_t compiled, std::int64_t& named) {
  if (compiled != kDynamic) return extent == compiled;
  if (named == kDynamic) named = extent;
  return extent == named;
}

bool is_same(dlpack::DataType a, dlpack::DataType b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool is_on_gpu(dlpack::Device device, int index) {
  return (device.type == dlpack::kCuda || device.type == dlpack::kCudaManaged) &&
         (device.id == index || device.id < 0);
}

/// In elements; a missing strides array means row-major without gaps.
std::int64_t stride_of(const dlpack::Tensor& tensor, int dimension) {
  if (tensor.strides != nullptr) return tensor.strides[dimension];
  std::int64_t stride = 1;
  for (int i = tensor.rank - 1; i > dimension; --i) stride *= tensor.shape[i];
  return stride;
}

bool is_mappable(const dlpack::Tensor& tensor, DType dtype, std::uint64_t address) {
  std::int64_t strides[kMaxRank];
  for (int i = 0; i < tensor.rank; ++i) strides[i] = stride_of(tensor, i);
  const auto rank = static_cast<std::size_t>(tensor.rank);
  return tilewire::is_mappable(dtype, address, {tensor.shape, rank}, {strides, rank});
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
    plan.code = to_dlpack(parameter.dtype);
    plan.rank = static_cast<int>(parameter.shape.size());
    plan.written = i < artifact.written.size() && artifact.written[i];
    plan.exact = facts.has_value();
    plan.contiguous = i < known.contiguous.size() && known.contiguous[i];
    plan.alignment = i < known.alignment.size() ? known.alignment[i] : num_bytes(plan.dtype);
    plan.rotate = parameter.rotate;
    plan.channel = parameter.kind == Parameter::Kind::kChannel ? &parameter.channel : nullptr;
    plan.local_only = i < known.local_only.size() && known.local_only[i];
    plan.mappable = i < known.mappable.size() && known.mappable[i];
    plan.asks_for_map = plan.exact ? i < known.mappable.size() : plan.mappable;
    for (std::size_t d = 0; d < parameter.shape.size(); ++d) {
      const auto& names = artifact.dimensions;
      const auto found = std::find(names.begin(), names.end(), parameter.shape[d].name);
      plan.extents[d] = parameter.shape[d].size;
      plan.dimensions[d] = found == names.end() ? 0 : static_cast<int>(found - names.begin());
      if (plan.extents[d] == kDynamic && found == names.end()) {
        throw InternalError(fmt::format("kernel `{}` has no dimension `{}`", artifact.kernel,
                                        parameter.shape[d].name));
      }
    }
    plans_.push_back(plan);
    if (parameter.is_launch_wide()) counted_.push_back(i);
  }
  slots_ = artifact.arguments;
  num_dimensions_ = artifact.dimensions.size();
  communicator_ = target_->communicator();
  lane_ = target_->lane();
  serves_unnamed_ = target_->serves_unnamed();
  device_index_ = target_->device_index();
  waits_ = artifact.resources.waits;
}

int CallForm::traverse(visitproc visit, void* arg) const {
  for (const py::object& constant : constants_) Py_VISIT(constant.ptr());
  return 0;
}

bool CallForm::are_identical(PyObject* const* passed) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (passed[i] != nullptr && passed[i] != constants_[i].ptr()) return false;
  }
  return true;
}

bool CallForm::has_constants(PyObject* const* passed) const {
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    PyObject* own = constants_[i].ptr();
    if (passed[i] == nullptr || passed[i] == own) continue;
    // The same type, since True == 1 == 1.0 and these compile to different code.
    if (Py_TYPE(passed[i]) != Py_TYPE(own)) return false;
    // -0.0 == 0.0, yet they compile to different code; NaN is itself here.
    if (PyFloat_CheckExact(own)) {
      if (std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(own)) !=
          std::bit_cast<std::uint64_t>(PyFloat_AS_DOUBLE(passed[i]))) {
        return false;
      }
      continue;
    }
    const int equal = PyObject_RichCompareBool(passed[i], own, Py_EQ);
    if (equal < 0) PyErr_Clear();
    if (equal != 1) return false;
  }
  return true;
}

/// An object whose launches are counted isn't taken twice.
bool CallForm::takes_each_once(const CallArguments& arguments) const {
  for (std::size_t i = 0; i < counted_.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (arguments.parameters[counted_[i]].window == arguments.parameters[counted_[k]].window) {
        return false;
      }
    }
  }
  return true;
}

bool CallForm::window_fits(const ParameterPlan& plan, const WindowObject& window,
                           std::int64_t* dimensions) const {
  if (window.kind != plan.kind || window.rotate != plan.rotate ||
      (plan.channel != nullptr && window.channel != *plan.channel) ||
      (window.is_filled && plan.written)) {
    return false;
  }
  if (window.dtype != plan.dtype || window.shape.size() != static_cast<std::size_t>(plan.rank) ||
      window.device != ArrayDevice{DeviceKind::kCuda, device_index_} ||
      (communicator_ != nullptr && window.communicator != communicator_)) {
    return false;
  }
  for (int i = 0; i < plan.rank; ++i) {
    if (!extent_fits(window.shape[i], plan.extents[i], dimensions[plan.dimensions[i]]))
      return false;
  }
  return !plan.asks_for_map || window.is_mappable() == plan.mappable;
}

bool CallForm::tensor_fits(const ParameterPlan& plan, const CallArguments::One& argument,
                           std::int64_t* dimensions) const {
  const dlpack::Tensor& tensor = argument.tensor;
  if (!is_same(tensor.dtype, plan.code) || tensor.rank != plan.rank ||
      !is_on_gpu(tensor.device, device_index_)) {
    return false;
  }
  // `ArrayArgument::is_contiguous` and the comparison of extents in one go.
  bool without_gaps = true;
  bool is_empty = false;
  bool repeats = false;
  std::int64_t expected = 1;
  for (int i = plan.rank - 1; i >= 0; --i) {
    const std::int64_t extent = tensor.shape[i];
    if (!extent_fits(extent, plan.extents[i], dimensions[plan.dimensions[i]])) return false;
    is_empty |= extent == 0;
    if (extent == 1) continue;
    const std::int64_t stride = tensor.strides != nullptr ? tensor.strides[i] : expected;
    without_gaps &= stride == expected;
    repeats |= stride == 0 && extent > 1;
    expected *= extent;
  }
  const bool contiguous = without_gaps || is_empty;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data) + tensor.byte_offset;
  const int alignment = alignment_of(reinterpret_cast<const void*>(address));
  const bool local_only = !is_in_window(address);
  if (plan.exact ? contiguous != plan.contiguous || alignment != plan.alignment ||
                       local_only != plan.local_only
                 : contiguous < plan.contiguous || alignment < plan.alignment ||
                       local_only < plan.local_only) {
    return false;
  }
  if (plan.asks_for_map && is_mappable(tensor, plan.dtype, address) != plan.mappable) return false;
  return !plan.written || (!argument.read_only && (contiguous || !repeats));
}

bool CallForm::fill(const CallArguments& arguments, const std::int64_t* dimensions,
                    ArgumentValue* values) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const ArgumentSlot& slot = slots_[i];
    const CallArguments::One* parameters = arguments.parameters;
    switch (slot.kind) {
      case ArgumentSlot::Kind::kTensor:
        values[i].pointer = reinterpret_cast<std::uintptr_t>(parameters[slot.index].tensor.data) +
                            parameters[slot.index].tensor.byte_offset;
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
        values[i].integer = stride_of(parameters[slot.index].tensor, slot.dimension);
        break;
      case ArgumentSlot::Kind::kDeviceComm:
      case ArgumentSlot::Kind::kLane:
      case ArgumentSlot::Kind::kCounters:
      case ArgumentSlot::Kind::kTensorMap:
        break;
    }
  }
  return true;
}

bool CallForm::serves(const CallArguments& arguments, ArgumentValue* values, int& grid) const {
  std::int64_t dimensions[kMaxDimensions];
  std::fill_n(dimensions, num_dimensions_, kDynamic);
  const void* named_lane = nullptr;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const ParameterPlan& plan = plans_[i];
    const CallArguments::One& argument = arguments.parameters[i];
    if (plan.kind == Parameter::Kind::kTensor) {
      if (!tensor_fits(plan, argument, dimensions)) return false;
    } else if (plan.kind != Parameter::Kind::kScalar) {
      if (!window_fits(plan, *argument.window, dimensions)) return false;
      const void* lane = argument.window->lane;
      if (lane == nullptr || lane_ == nullptr) continue;
      if (named_lane != nullptr && named_lane != lane) return false;
      named_lane = lane;
    }
  }
  if (lane_ != nullptr && (named_lane != nullptr ? named_lane != lane_ : !serves_unnamed_)) {
    return false;
  }
  if (!takes_each_once(arguments) || !fill(arguments, dimensions, values)) return false;
  grid = grid_ ? *grid_ : target_->auto_grid({dimensions, num_dimensions_});
  return true;
}

}  // namespace tilewire::bindings

#include "bindings/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "bindings/array_protocols.h"
#include "bindings/window.h"
#include "compiler/jit/tensor_map.h"
#include "compiler/support/error.h"
#include "runtime/nccl/window_ranges.h"

namespace py = pybind11;

namespace tilewire::bindings {

std::string ArrayDevice::to_string() const {
  if (kind == DeviceKind::kCpu) return "cpu";
  return index < 0 ? "cuda" : fmt::format("cuda:{}", index);
}

std::int64_t ArrayArgument::num_elements() const {
  std::int64_t count = 1;
  for (int i = 0; i < rank; ++i) count *= shape[i];
  return count;
}

bool ArrayArgument::is_contiguous() const {
  std::int64_t expected = 1;
  bool without_gaps = true;
  for (int i = rank - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    if (shape[i] == 1) continue;
    without_gaps &= strides[i] == expected;
    expected *= shape[i];
  }
  return without_gaps;
}

int ArrayArgument::alignment() const { return alignment_of(data); }

bool ArrayArgument::is_local_only() const {
  return device.kind == DeviceKind::kCuda && !is_in_window(reinterpret_cast<std::uintptr_t>(data));
}

bool ArrayArgument::is_mappable() const {
  const auto size = static_cast<std::size_t>(rank);
  return tilewire::is_mappable(dtype, reinterpret_cast<std::uintptr_t>(data), {shape, size},
                               {strides, size});
}

std::optional<ArrayDevice> device_from_dlpack(dlpack::Device device) {
  switch (device.type) {
    case dlpack::kCpu:
    case dlpack::kCudaHost:
      return ArrayDevice{DeviceKind::kCpu, 0};
    case dlpack::kCuda:
    case dlpack::kCudaManaged:
      return ArrayDevice{DeviceKind::kCuda, device.id};
  }
  return {};
}

dlpack::Device to_dlpack(ArrayDevice device) {
  return {device.kind == DeviceKind::kCpu ? dlpack::kCpu : dlpack::kCuda, device.index};
}

bool convert_tensor(const dlpack::Tensor& tensor, ArrayArgument& out) {
  const std::optional<DType> dtype = dtype_from_dlpack(tensor.dtype);
  const std::optional<ArrayDevice> device = device_from_dlpack(tensor.device);
  if (!dtype || !device || tensor.rank < 0 || tensor.rank > kMaxRank) return false;
  out.data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  out.dtype = *dtype;
  out.device = *device;
  out.read_only = false;
  out.rank = tensor.rank;
  std::copy_n(tensor.shape, tensor.rank, out.shape);
  if (tensor.strides != nullptr) {
    std::copy_n(tensor.strides, tensor.rank, out.strides);
  } else {
    set_contiguous_strides(out);
  }
  return true;
}

const dlpack::ExchangeApi* exchange_api_of(PyTypeObject* type) {
  PyObject* capsule =
      PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), dlpack::kExchangeApiAttribute);
  const void* pointer = nullptr;
  if (capsule != nullptr && PyCapsule_IsValid(capsule, dlpack::kExchangeApiCapsule)) {
    pointer = PyCapsule_GetPointer(capsule, dlpack::kExchangeApiCapsule);
  }
  Py_XDECREF(capsule);
  PyErr_Clear();
  const auto* header = static_cast<const dlpack::ExchangeApiHeader*>(pointer);
  while (header != nullptr && header->version.major != dlpack::kMajorVersion) {
    header = header->previous;
  }
  const auto* api = reinterpret_cast<const dlpack::ExchangeApi*>(header);
  return api != nullptr && api->tensor_from_object != nullptr ? api : nullptr;
}

std::string type_name(PyObject* object) {
  const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const auto name = py::str(type.attr("__qualname__")).cast<std::string>();
  const auto module = py::str(type.attr("__module__")).cast<std::string>();
  return module == "builtins" ? name : module + "." + name;
}

std::optional<ArrayArgument> try_read_array(PyObject* object, std::string_view what,
                                            std::optional<std::uintptr_t> stream, Owners& owners) {
  if (const WindowObject* window = as_window(object)) return window->copy_of(window->rank);
  ArrayRequest request{object, what, stream, owners, {}};
  if (auto array = read_exchange_api(request)) return array;
  if (auto array = read_buffer(request)) return array;
  if (auto array = read_capsule(request)) return array;
  if (auto array = read_cuda_interface(request)) return array;
  if (request.refusals.empty()) return {};
  throw UserError(fmt::format("{}: {} can't be read as an array: {}", what, type_name(object),
                              fmt::join(request.refusals, "; ")));
}

ArrayArgument read_array(PyObject* object, std::string_view what,
                         std::optional<std::uintptr_t> stream, Owners& owners) {
  if (auto array = try_read_array(object, what, stream, owners)) return *array;
  throw UserError(fmt::format(
      "{}: expected a window or an array, got {}; arrays are objects with DLPack, the buffer "
      "protocol or `__cuda_array_interface__`: of PyTorch, NumPy, CuPy, JAX, …",
      what, type_name(object)));
}

}  // namespace tilewire::bindings

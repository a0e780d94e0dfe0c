#include "bindings/array_protocols.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <utility>

#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// `BufferError: no strides`.
std::string text_of(const py::error_already_set& error) {
  return fmt::format("{}: {}", py::str(error.type().attr("__name__")).cast<std::string>(),
                     py::str(error.value()).cast<std::string>());
}

/// The text of the Python exception that is set, which is cleared.
std::string take_python_error() {
  if (PyErr_Occurred() == nullptr) return "no reason given";
  return text_of(py::error_already_set());
}

[[noreturn]] void fail(const ArrayRequest& request, const std::string& message) {
  throw UserError(fmt::format("{}: {} {}", request.what, type_name(request.object), message));
}

[[noreturn]] void fail_dtype(const ArrayRequest& request, const std::string& found) {
  std::vector<std::string_view> known;
  for (DType dtype : all_dtypes()) known.push_back(name_of(dtype));
  fail(request, fmt::format("has dtype {}, tilewire's are {}", found, fmt::join(known, ", ")));
}

[[noreturn]] void fail_rank(const ArrayRequest& request, std::size_t rank) {
  fail(request, fmt::format("has rank {}, at most {} is possible", rank, kMaxRank));
}

[[noreturn]] void fail_strides(const ArrayRequest& request) {
  fail(request, "has strides that are no whole numbers of elements; pass a copy");
}

[[noreturn]] void fail_device(const ArrayRequest& request, std::int32_t type) {
  fail(request, fmt::format("is neither in CPU nor in CUDA memory (DLPack device type {})", type));
}

/// Copies a tensor that DLPack describes.
ArrayArgument from_tensor(const dlpack::Tensor& tensor, const ArrayRequest& request) {
  ArrayArgument array;
  if (convert_tensor(tensor, array)) return array;
  if (tensor.rank > kMaxRank) fail_rank(request, static_cast<std::size_t>(tensor.rank));
  if (!device_from_dlpack(tensor.device)) fail_device(request, tensor.device.type);
  const py::object dtype = attribute_or_null(request.object, "dtype");
  fail_dtype(request, dtype ? py::str(dtype).cast<std::string>()
                            : fmt::format("code {}, bits {}, lanes {}", tensor.dtype.code,
                                          tensor.dtype.bits, tensor.dtype.lanes));
}

/// Byte strides to element strides; false where one isn't a whole number of elements.
bool set_byte_strides(ArrayArgument& array, const std::int64_t* byte_strides) {
  const std::int64_t size = num_bytes(array.dtype);
  bool whole = true;
  for (int i = 0; i < array.rank; ++i) {
    whole &= byte_strides[i] % size == 0;
    array.strides[i] = byte_strides[i] / size;
  }
  return whole || array.num_elements() == 0;
}

/// The dtype in a format of the struct module: one character, perhaps behind a byte order.
std::optional<DType> dtype_from_format(const char* format, std::int64_t num_bytes) {
  std::string_view text = format == nullptr ? "B" : format;
  if (text.size() == 2 && (text[0] == '@' || text[0] == '=' || text[0] == '<')) {
    text.remove_prefix(1);
  }
  if (text.size() != 1) return {};
  const char code = text[0];
  if (code == '?') return dtype_from_kind('b', num_bytes);
  if (std::string_view("bhilqn").find(code) != text.npos) return dtype_from_kind('i', num_bytes);
  if (std::string_view("BHILQN").find(code) != text.npos) return dtype_from_kind('u', num_bytes);
  if (std::string_view("efd").find(code) != text.npos) return dtype_from_kind('f', num_bytes);
  return {};
}

void release_buffer(void* buffer) {
  PyBuffer_Release(static_cast<Py_buffer*>(buffer));
  delete static_cast<Py_buffer*>(buffer);
}

/// Reads what a buffer says. The object's own dtype counts more than the buffer's format, which
/// knows no bf16 and no fp8.
ArrayArgument from_buffer(const Py_buffer& buffer, std::optional<DType> dtype,
                          const ArrayRequest& request) {
  if (!dtype) dtype = dtype_from_format(buffer.format, buffer.itemsize);
  if (!dtype || num_bytes(*dtype) != buffer.itemsize) {
    const py::object own = attribute_or_null(request.object, "dtype");
    fail_dtype(request, own ? py::str(own).cast<std::string>()
                            : fmt::format("of format '{}'", buffer.format ? buffer.format : "B"));
  }
  if (buffer.ndim > kMaxRank) fail_rank(request, static_cast<std::size_t>(buffer.ndim));
  ArrayArgument array;
  array.data = buffer.buf;
  array.dtype = *dtype;
  array.device = {DeviceKind::kCpu, 0};
  array.read_only = buffer.readonly != 0;
  array.rank = buffer.ndim;
  if (buffer.shape != nullptr) {
    std::copy_n(buffer.shape, buffer.ndim, array.shape);
  } else if (buffer.ndim == 1) {
    array.shape[0] = buffer.len / buffer.itemsize;
  }
  if (buffer.strides == nullptr) {
    set_contiguous_strides(array);
  } else if (!set_byte_strides(array, buffer.strides)) {
    fail_strides(request);
  }
  return array;
}

/// Asks the producer for a capsule on the stream where the array will be used. Producers older than
/// DLPack 1.0 know no `max_version`.
py::object request_capsule(ArrayRequest& request, const ArrayDevice& device) {
  py::dict keywords;
  if (device.kind == DeviceKind::kCuda && request.stream) {
    constexpr std::uintptr_t kLegacyDefaultStream = 1;  // 0 is ambiguous in the protocol
    keywords["stream"] = *request.stream == 0 ? kLegacyDefaultStream : *request.stream;
  } else if (device.kind == DeviceKind::kCuda) {
    keywords["stream"] = -1;  // no synchronisation
  }
  const py::object method = py::reinterpret_borrow<py::object>(request.object).attr("__dlpack__");
  try {
    return method(**keywords, py::arg("max_version") =
                                  py::make_tuple(dlpack::kMajorVersion, dlpack::kMinorVersion));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method(**keywords);
}

/// The tensor in a capsule that was not consumed: its own destructor gives it back.
std::optional<ArrayArgument> from_capsule(PyObject* capsule, ArrayRequest& request) {
  const dlpack::Tensor* tensor = nullptr;
  bool read_only = false;
  if (PyCapsule_IsValid(capsule, dlpack::kVersionedCapsule)) {
    const auto* managed = static_cast<const dlpack::ManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule, dlpack::kVersionedCapsule));
    if (managed->version.major != dlpack::kMajorVersion) {
      request.refusals.push_back(fmt::format("it speaks DLPack {}, tilewire {}",
                                             managed->version.major, dlpack::kMajorVersion));
      return {};
    }
    tensor = &managed->tensor;
    read_only = (managed->flags & dlpack::kFlagReadOnly) != 0;
  } else if (PyCapsule_IsValid(capsule, dlpack::kCapsule)) {
    tensor =
        &static_cast<const dlpack::ManagedTensor*>(PyCapsule_GetPointer(capsule, dlpack::kCapsule))
             ->tensor;
  } else {
    request.refusals.push_back("`__dlpack__` gave something that is no DLPack capsule");
    return {};
  }
  ArrayArgument array = from_tensor(*tensor, request);
  array.read_only = read_only;
  return array;
}

/// Fills dtype, shape, strides and address from the dictionary of an array interface.
ArrayArgument from_interface(const py::dict& interface, const ArrayRequest& request) {
  const auto typestr = interface["typestr"].cast<std::string>();
  std::optional<DType> dtype = dtype_of_object(request.object);
  if (!dtype && typestr.size() >= 3 && (typestr[0] == '<' || typestr[0] == '|')) {
    dtype = dtype_from_kind(typestr[1], std::atoi(typestr.c_str() + 2));
  }
  if (!dtype) fail_dtype(request, typestr);
  const py::tuple shape = interface["shape"];
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) fail_rank(request, shape.size());
  const py::tuple data = interface["data"];
  ArrayArgument array;
  array.data = reinterpret_cast<void*>(data[0].cast<std::uintptr_t>());
  array.dtype = *dtype;
  array.device = {DeviceKind::kCuda, -1};
  array.read_only = data[1].cast<bool>();
  array.rank = static_cast<int>(shape.size());
  for (int i = 0; i < array.rank; ++i) array.shape[i] = shape[i].cast<std::int64_t>();
  if (!interface.contains("strides") || interface["strides"].is_none()) {
    set_contiguous_strides(array);
    return array;
  }
  const py::tuple strides = interface["strides"];
  std::array<std::int64_t, kMaxRank> byte_strides{};
  for (int i = 0; i < array.rank; ++i) byte_strides[i] = strides[i].cast<std::int64_t>();
  if (!set_byte_strides(array, byte_strides.data())) fail_strides(request);
  return array;
}

}  // namespace

void set_contiguous_strides(ArrayArgument& array) {
  std::int64_t stride = 1;
  for (int i = array.rank - 1; i >= 0; --i) {
    array.strides[i] = stride;
    stride *= array.shape[i];
  }
}

std::optional<ArrayArgument> read_exchange_api(ArrayRequest& request) {
  const dlpack::ExchangeApi* api = exchange_api_of(Py_TYPE(request.object));
  if (api == nullptr) return {};
  dlpack::Tensor tensor{};
  if (api->tensor_from_object(request.object, &tensor) != 0) {
    request.refusals.push_back(fmt::format("DLPack export failed: {}", take_python_error()));
    return {};
  }
  return from_tensor(tensor, request);
}

std::optional<ArrayArgument> read_buffer(ArrayRequest& request) {
  if (!PyObject_CheckBuffer(request.object)) return {};
  const std::optional<DType> dtype = dtype_of_object(request.object);
  // NumPy refuses to spell the format of ml_dtypes' types, so it isn't asked where not needed.
  const int flags = dtype ? PyBUF_STRIDES : PyBUF_STRIDES | PyBUF_FORMAT;
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(request.object, buffer.get(), flags) != 0) {
    request.refusals.push_back(fmt::format("its buffer failed: {}", take_python_error()));
    return {};
  }
  const Py_buffer& view = *buffer;
  request.owners.push_back(py::capsule(buffer.release(), &release_buffer));
  return from_buffer(view, dtype, request);
}

std::optional<ArrayArgument> read_capsule(ArrayRequest& request) {
  const py::object device_method = attribute_or_null(request.object, "__dlpack_device__");
  if (!device_method) return {};
  try {
    const py::tuple pair = device_method();
    const dlpack::Device found{py::int_(pair[0]).cast<std::int32_t>(),
                               py::int_(pair[1]).cast<std::int32_t>()};
    const std::optional<ArrayDevice> device = device_from_dlpack(found);
    if (!device) fail_device(request, found.type);
    py::object capsule = request_capsule(request, *device);
    auto array = from_capsule(capsule.ptr(), request);
    if (array) request.owners.push_back(std::move(capsule));
    return array;
  } catch (const py::error_already_set& error) {
    request.refusals.push_back(fmt::format("`__dlpack__` failed: {}", text_of(error)));
    return {};
  }
}

std::optional<ArrayArgument> read_cuda_interface(ArrayRequest& request) {
  const py::object interface = attribute_or_null(request.object, "__cuda_array_interface__");
  if (!interface) return {};
  try {
    return from_interface(interface, request);
  } catch (const UserError&) {
    throw;
  } catch (const std::exception& error) {
    request.refusals.push_back(
        fmt::format("`__cuda_array_interface__` isn't as specified: {}", error.what()));
    return {};
  }
}

}  // namespace tilewire::bindings

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/array_protocols.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 15> kNumpyNames = {{
    {DType::kBool, "bool"},
    {DType::kI8, "int8"},
    {DType::kI16, "int16"},
    {DType::kI32, "int32"},
    {DType::kI64, "int64"},
    {DType::kU8, "uint8"},
    {DType::kU16, "uint16"},
    {DType::kU32, "uint32"},
    {DType::kU64, "uint64"},
    {DType::kE4M3, "float8_e4m3fn"},
    {DType::kE5M2, "float8_e5m2"},
    {DType::kF16, "float16"},
    {DType::kBF16, "bfloat16"},
    {DType::kF32, "float32"},
    {DType::kF64, "float64"},
}};

}  // namespace

py::object attribute_or_null(PyObject* object, const char* name) {
  auto value = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, name));
  if (!value) PyErr_Clear();
  return value;
}

std::optional<DType> dtype_from_dlpack(dlpack::DataType dtype) {
  if (dtype.lanes != 1) return {};
  switch (dtype.code) {
    case dlpack::kInt:
      switch (dtype.bits) {
        case 8:
          return DType::kI8;
        case 16:
          return DType::kI16;
        case 32:
          return DType::kI32;
        case 64:
          return DType::kI64;
      }
      return {};
    case dlpack::kUInt:
      switch (dtype.bits) {
        case 8:
          return DType::kU8;
        case 16:
          return DType::kU16;
        case 32:
          return DType::kU32;
        case 64:
          return DType::kU64;
      }
      return {};
    case dlpack::kFloat:
      switch (dtype.bits) {
        case 16:
          return DType::kF16;
        case 32:
          return DType::kF32;
        case 64:
          return DType::kF64;
      }
      return {};
    case dlpack::kBfloat:
      return dtype.bits == 16 ? std::optional(DType::kBF16) : std::nullopt;
    case dlpack::kBool:
      return dtype.bits == 8 ? std::optional(DType::kBool) : std::nullopt;
    case dlpack::kFloat8E4M3FN:
      return dtype.bits == 8 ? std::optional(DType::kE4M3) : std::nullopt;
    case dlpack::kFloat8E5M2:
      return dtype.bits == 8 ? std::optional(DType::kE5M2) : std::nullopt;
  }
  return {};
}

dlpack::DataType to_dlpack(DType dtype) {
  const auto bits = static_cast<std::uint8_t>(8 * num_bytes(dtype));
  const auto of = [bits](dlpack::TypeCode code) { return dlpack::DataType{code, bits, 1}; };
  switch (dtype) {
    case DType::kBool:
      return of(dlpack::kBool);
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return of(dlpack::kInt);
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      return of(dlpack::kUInt);
    case DType::kE4M3:
      return of(dlpack::kFloat8E4M3FN);
    case DType::kE5M2:
      return of(dlpack::kFloat8E5M2);
    case DType::kBF16:
      return of(dlpack::kBfloat);
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
      return of(dlpack::kFloat);
  }
  throw InternalError("dtype without a DLPack code");
}

std::optional<DType> dtype_from_numpy_name(std::string_view name) {
  for (const auto& [dtype, text] : kNumpyNames) {
    if (text == name) return dtype;
  }
  return {};
}

std::string_view numpy_name(DType dtype) {
  for (const auto& [each, text] : kNumpyNames) {
    if (each == dtype) return text;
  }
  throw InternalError("dtype without a NumPy name");
}

std::optional<DType> dtype_from_kind(char kind, std::int64_t num_bytes) {
  const auto integer = [num_bytes](DType of1, DType of2, DType of4, DType of8) {
    return num_bytes == 1   ? std::optional(of1)
           : num_bytes == 2 ? std::optional(of2)
           : num_bytes == 4 ? std::optional(of4)
           : num_bytes == 8 ? std::optional(of8)
                            : std::nullopt;
  };
  if (kind == 'b' && num_bytes == 1) return DType::kBool;
  if (kind == 'i') return integer(DType::kI8, DType::kI16, DType::kI32, DType::kI64);
  if (kind == 'u') return integer(DType::kU8, DType::kU16, DType::kU32, DType::kU64);
  if (kind == 'f' && num_bytes == 2) return DType::kF16;
  if (kind == 'f' && num_bytes == 4) return DType::kF32;
  if (kind == 'f' && num_bytes == 8) return DType::kF64;
  return {};
}

std::optional<DType> dtype_of_object(PyObject* object) {
  const py::object dtype = attribute_or_null(object, "dtype");
  if (!dtype) return {};
  const py::object native = attribute_or_null(dtype.ptr(), "isnative");
  if (native && !native.cast<bool>()) return {};
  const py::object name = attribute_or_null(dtype.ptr(), "name");  // NumPy; PyTorch has none
  const auto text = py::str(name ? name : dtype).cast<std::string>();
  return dtype_from_numpy_name(std::string_view(text).substr(text.rfind('.') + 1));
}

}  // namespace tilewire::bindings

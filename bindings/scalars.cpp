#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "bindings/arguments.h"
#include "bindings/array_protocols.h"
#include "compiler/ir/float_format.h"
#include "compiler/ir/number_range.h"
#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

/// `value` rounded to nearest even; absent where it is finite and the result would not be, or
/// where the format has no infinity for one.
std::optional<std::uint64_t> encode(double value, const FloatFormat& format) {
  const int shift = format.mantissa_bits + format.exponent_bits;
  const std::uint64_t sign = std::uint64_t{std::signbit(value)} << shift;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return format.nan;
  if (std::isinf(value)) {
    if (!format.has_infinity) return {};
    return sign | format.infinity();
  }
  int exponent = format.smallest_exponent();
  if (magnitude > 0.0) exponent = std::max(exponent, std::ilogb(magnitude));
  const double steps = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - exponent));
  if (std::ldexp(steps, exponent - format.mantissa_bits) > format.largest) return {};
  // A carry out of the mantissa lands in the exponent, which is right; subnormals have none yet.
  const auto biased = static_cast<std::uint64_t>(exponent + format.bias() - 1);
  return sign | ((biased << format.mantissa_bits) + static_cast<std::uint64_t>(steps));
}

std::optional<std::uint64_t> float_bits(double value, DType dtype) {
  if (dtype == DType::kF64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == DType::kF32) {
    const auto rounded = static_cast<float>(value);
    if (std::isinf(rounded) && !std::isinf(value)) return {};
    return std::bit_cast<std::uint32_t>(rounded);
  }
  return encode(value, format_of(dtype));
}

/// The low bytes of a two's complement integer.
std::uint64_t truncate(std::uint64_t value, DType dtype) {
  const int bits = 8 * num_bytes(dtype);
  return bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1);
}

/// A Python int (or bool) as bits; absent where it doesn't fit.
std::optional<std::uint64_t> integer_bits(PyObject* integer, DType dtype) {
  if (is_float(dtype)) {
    const double value = PyLong_AsDouble(integer);
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return {};
    }
    return float_bits(value, dtype);
  }
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow > 0 && dtype == DType::kU64) {
    const unsigned long long large = PyLong_AsUnsignedLongLong(integer);
    if (PyErr_Occurred() == nullptr) return large;
    PyErr_Clear();
  }
  if (overflow != 0) return {};
  if (dtype == DType::kBool) {
    return value == 0 || value == 1 ? std::optional<std::uint64_t>(value) : std::nullopt;
  }
  return holds(dtype, value) ? std::optional(truncate(static_cast<std::uint64_t>(value), dtype))
                             : std::nullopt;
}

std::string describe_range(DType dtype) {
  if (dtype == DType::kBool) return "False or True";
  if (is_float(dtype)) return fmt::format("at most {:.7g}", format_of(dtype).largest);
  const IntegerRange range = range_of(dtype);
  return fmt::format("{} to {}", range.least, range.largest);
}

[[noreturn]] void fail_range(PyObject* object, DType dtype, std::string_view what) {
  throw UserError(fmt::format("{}: {} does not fit {} ({})", what,
                              py::str(py::handle(object)).cast<std::string>(), name_of(dtype),
                              describe_range(dtype)));
}

[[noreturn]] void fail_kind(PyObject* object, DType dtype, std::string_view what) {
  const std::string_view expected = dtype == DType::kBool ? "a bool"
                                    : is_float(dtype)     ? "a number"
                                                          : "an integer";
  std::string found = type_name(object);
  if (PyFloat_Check(object)) found += " " + py::str(py::handle(object)).cast<std::string>();
  std::string hint;
  if (!is_number(object) && (PyObject_HasAttrString(object, "__dlpack__") != 0 ||
                             PyObject_HasAttrString(object, "__cuda_array_interface__") != 0)) {
    hint = "; a scalar parameter takes no array, not even of one element: pass `.item()`";
  }
  throw UserError(
      fmt::format("{}: expected {} for {}, got {}{}", what, expected, name_of(dtype), found, hint));
}

}  // namespace

bool is_number(PyObject* object) {
  if (PyLong_Check(object) || PyFloat_Check(object)) return true;
  PyObject* numpy = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");  // borrowed
  if (numpy == nullptr) return false;
  const py::object generic = py::handle(numpy).attr("generic");
  return PyObject_IsInstance(object, generic.ptr()) == 1 && dtype_of_object(object).has_value();
}

bool try_read_scalar(PyObject* object, DType dtype, std::uint64_t& bits) {
  std::optional<std::uint64_t> found;
  if (PyFloat_CheckExact(object) && is_float(dtype)) [[likely]] {
    found = float_bits(PyFloat_AS_DOUBLE(object), dtype);
  } else if (PyLong_CheckExact(object) || PyBool_Check(object)) {
    found = integer_bits(object, dtype);
  }
  if (found) bits = *found;
  return found.has_value();
}

py::object plain_number(PyObject* object, DType dtype) {
  if (!is_number(object)) return {};
  py::object number;
  if (PyIndex_Check(object)) {
    number = py::reinterpret_steal<py::object>(PyNumber_Index(object));
    if (!number) PyErr_Clear();  // numpy.bool has the slot and refuses
  }
  if (!number && dtype_of_object(object) == DType::kBool) {
    number = py::bool_(PyObject_IsTrue(object) == 1);
  }
  if (!number && is_float(dtype)) {
    number = py::reinterpret_steal<py::object>(PyNumber_Float(object));
    if (!number) PyErr_Clear();
  }
  return number;
}

std::uint64_t read_scalar(PyObject* object, DType dtype, std::string_view what) {
  const py::object number = plain_number(object, dtype);
  if (!number) fail_kind(object, dtype, what);
  std::uint64_t bits = 0;
  if (!try_read_scalar(number.ptr(), dtype, bits)) fail_range(object, dtype, what);
  return bits;
}

}  // namespace tilewire::bindings

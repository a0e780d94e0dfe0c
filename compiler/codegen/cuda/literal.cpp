#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "compiler/codegen/cuda/emitter.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::string float_literal(double value, DType dtype) {
  const bool is_double = dtype == DType::kF64;
  if (std::isnan(value) || std::isinf(value)) {
    const std::string text = fmt::format("tw::float_of_bits({})", std::isnan(value) ? "0x7fc00000"
                                                                  : value < 0       ? "0xff800000"
                                                                                    : "0x7f800000");
    return is_double ? fmt::format("double({})", text) : text;
  }
  std::string text =
      is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return is_double ? text : text + "f";
}

std::string integer_literal(std::int64_t value, DType dtype, bool typed) {
  if (value == std::numeric_limits<std::int64_t>::min()) return "(-9223372036854775807 - 1)";
  std::string text = dtype == DType::kU64 ? fmt::format("{}u", static_cast<std::uint64_t>(value))
                                          : fmt::format("{}", value);
  if (dtype == DType::kU32) text += "u";
  const bool is_exact = dtype == DType::kI32 || dtype == DType::kU32;
  return typed && !is_exact ? fmt::format("{}{{{}}}", device_type(dtype), text) : text;
}

}  // namespace

std::string_view device_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return "bool";
    case DType::kI8:
      return "int8_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI64:
      return "int64_t";
    case DType::kU8:
      return "uint8_t";
    case DType::kU16:
      return "uint16_t";
    case DType::kU32:
      return "uint32_t";
    case DType::kU64:
      return "uint64_t";
    case DType::kE4M3:
      return "tw::e4m3";
    case DType::kE5M2:
      return "tw::e5m2";
    case DType::kF16:
      return "tw::f16";
    case DType::kBF16:
      return "tw::bf16";
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
  }
  throw InternalError("a dtype out of range");
}

std::string literal(const Attribute& value, DType dtype, bool typed) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? "true" : "false";
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return integer_literal(*integer, dtype, typed);
  }
  const auto* number = std::get_if<double>(&value);
  if (number == nullptr) throw InternalError("a constant that is no number");
  const std::string text = float_literal(*number, dtype);
  const bool is_narrow = dtype != DType::kF32 && dtype != DType::kF64;
  return is_narrow ? fmt::format("tw::cast<{}>({})", device_type(dtype), text) : text;
}

}  // namespace tilewire

#include "compiler/passes/fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "compiler/ops/op.h"
#include "compiler/ops/philox.h"
#include "compiler/passes/fold_bits.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

using Maybe = std::optional<Attribute>;

std::uint64_t bits(std::int64_t value) { return static_cast<std::uint64_t>(value); }

bool is_less(std::int64_t a, std::int64_t b, DType dtype) {
  return is_signed(dtype) ? a < b : bits(a) < bits(b);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b, DType dtype) {
  if (b == 0) return 0;
  if (!is_signed(dtype)) return static_cast<std::int64_t>(bits(a) / bits(b));
  if (b == -1) return static_cast<std::int64_t>(-bits(a));  // the least integer wraps
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t modulo(std::int64_t a, std::int64_t b, DType dtype) {
  if (b == 0) return 0;
  return static_cast<std::int64_t>(bits(a) - bits(floor_divide(a, b, dtype)) * bits(b));
}

Maybe fold_integers(std::string_view op, std::int64_t a, std::int64_t b, DType dtype) {
  const auto wrapped = [dtype](std::uint64_t value) {
    return Attribute(wrap(static_cast<std::int64_t>(value), dtype));
  };
  if (op == "add") return wrapped(bits(a) + bits(b));
  if (op == "sub") return wrapped(bits(a) - bits(b));
  if (op == "mul") return wrapped(bits(a) * bits(b));
  if (op == "floordiv") return wrapped(bits(floor_divide(a, b, dtype)));
  if (op == "mod") return wrapped(bits(modulo(a, b, dtype)));
  if (op == "minimum") return Attribute(is_less(a, b, dtype) ? a : b);
  if (op == "maximum") return Attribute(is_less(a, b, dtype) ? b : a);
  if (op == "and") return Attribute(a & b);
  if (op == "or") return Attribute(a | b);
  if (op == "xor") return wrapped(bits(a) ^ bits(b));
  if (op == "shift_left" || op == "shift_right") return Attribute(fold_shift(op, a, b, dtype));
  if (op == "eq") return Attribute(a == b);
  if (op == "ne") return Attribute(a != b);
  if (op == "lt") return Attribute(is_less(a, b, dtype));
  if (op == "le") return Attribute(!is_less(b, a, dtype));
  if (op == "gt") return Attribute(is_less(b, a, dtype));
  if (op == "ge") return Attribute(!is_less(a, b, dtype));
  return std::nullopt;
}

template <typename Float>
Maybe fold_floats(std::string_view op, Float a, Float b, DType dtype) {
  const auto rounded = [dtype](Float value) {
    return Attribute(round_to(static_cast<double>(value), dtype));
  };
  if (op == "add") return rounded(a + b);
  if (op == "sub") return rounded(a - b);
  if (op == "mul") return rounded(a * b);
  if (op == "div") return rounded(a / b);
  if (op == "minimum" || op == "maximum") {
    if (std::isnan(a) || std::isnan(b)) return Attribute(std::numeric_limits<double>::quiet_NaN());
    const bool a_is_less = a < b || (a == b && std::signbit(a) && !std::signbit(b));
    return rounded(a_is_less == (op == "minimum") ? a : b);
  }
  if (op == "eq") return Attribute(a == b);
  if (op == "ne") return Attribute(a != b);
  if (op == "lt") return Attribute(a < b);
  if (op == "le") return Attribute(a <= b);
  if (op == "gt") return Attribute(a > b);
  if (op == "ge") return Attribute(a >= b);
  return std::nullopt;
}

Maybe fold_bools(std::string_view op, bool a, bool b) {
  if (op == "and") return Attribute(a && b);
  if (op == "or") return Attribute(a || b);
  if (op == "xor" || op == "ne") return Attribute(a != b);
  if (op == "eq") return Attribute(a == b);
  if (op == "lt") return Attribute(!a && b);
  if (op == "le") return Attribute(!a || b);
  if (op == "gt") return Attribute(a && !b);
  if (op == "ge") return Attribute(a || !b);
  return std::nullopt;
}

/// Direct rounding, where going through f32 gives the same: targets may do either.
std::optional<double> round_alike(double value, DType dtype) {
  const double direct = round_to(value, dtype);
  const double through_f32 = round_to(round_to(value, DType::kF32), dtype);
  const bool is_equal = direct == through_f32 || std::isnan(direct);
  return dtype == DType::kF64 || is_equal ? std::optional(direct) : std::nullopt;
}

Maybe fold_unary(std::string_view op, const Attribute& operand, DType dtype) {
  if (const bool* flag = std::get_if<bool>(&operand)) {
    return op == "not" ? Maybe(!*flag) : std::nullopt;
  }
  if (const auto* integer = std::get_if<std::int64_t>(&operand)) {
    const std::int64_t negated = wrap(static_cast<std::int64_t>(-bits(*integer)), dtype);
    if (op == "neg") return Attribute(negated);
    if (op == "not") return Attribute(wrap(~*integer, dtype));
    if (op == "popcount" || op == "clz") {
      return Attribute(wrap(fold_bit_count(op, *integer, dtype), dtype));
    }
    if (op == "abs") return Attribute(is_signed(dtype) && *integer < 0 ? negated : *integer);
    return std::nullopt;
  }
  const std::optional<double> exact = round_alike(std::get<double>(operand), dtype);
  if (!exact) return std::nullopt;
  if (op == "neg") return Attribute(-*exact);
  if (op == "abs") return Attribute(std::fabs(*exact));
  if (op == "floor") return Attribute(std::floor(*exact));
  if (op == "ceil") return Attribute(std::ceil(*exact));
  if (op == "round") return Attribute(std::nearbyint(*exact));
  if (op == "trunc") return Attribute(std::trunc(*exact));
  return std::nullopt;
}

Maybe float_to_integer(double value, DType to) {
  if (std::isnan(value)) return Attribute(std::int64_t{0});
  const int width = 8 * num_bytes(to) - (is_signed(to) ? 1 : 0);
  const double end = std::ldexp(1.0, width);  // one past the largest
  const std::int64_t largest = width == 64   ? -1
                               : width == 63 ? INT64_MAX
                                             : (std::int64_t{1} << width) - 1;
  const double whole = std::trunc(value);
  if (whole >= end) return Attribute(largest);
  if (!is_signed(to)) {
    return Attribute(whole <= 0 ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(whole)));
  }
  if (whole < -end) return Attribute(-largest - 1);
  return Attribute(static_cast<std::int64_t>(whole));
}

Maybe integer_to_float(std::int64_t value, DType from, DType to) {
  const bool is_unsigned = !is_signed(from);
  if (to == DType::kF64) {
    return Attribute(is_unsigned ? static_cast<double>(bits(value)) : static_cast<double>(value));
  }
  const float nearest = is_unsigned ? static_cast<float>(bits(value)) : static_cast<float>(value);
  if (to == DType::kF32) return Attribute(static_cast<double>(nearest));
  // Of 16 bits: directly or through f32 is the same where f32 holds the integer.
  if (value > (1 << 24) || value < -(1 << 24)) return std::nullopt;
  return Attribute(round_to(static_cast<double>(nearest), to));
}

Maybe fold_cast(const Attribute& operand, DType from, DType to) {
  if (is_fp8(from) || is_fp8(to)) return std::nullopt;
  if (is_float(from)) {
    const std::optional<double> exact = round_alike(std::get<double>(operand), from);
    if (!exact) return std::nullopt;
    if (to == DType::kBool) return Attribute(*exact != 0.0);
    if (!is_float(to)) return float_to_integer(*exact, to);
    const std::optional<double> rounded = round_alike(*exact, to);
    return rounded ? Maybe(*rounded) : std::nullopt;
  }
  const auto* flag = std::get_if<bool>(&operand);
  const std::int64_t value = flag ? (*flag ? 1 : 0) : std::get<std::int64_t>(operand);
  if (to == DType::kBool) return Attribute(value != 0);
  if (!is_float(to)) return Attribute(wrap(value, to));
  return integer_to_float(value, flag ? DType::kI64 : from, to);
}

Maybe fold_binary(std::string_view op, const Attribute& a, const Attribute& b, DType dtype) {
  if (const bool* flag = std::get_if<bool>(&a)) return fold_bools(op, *flag, std::get<bool>(b));
  if (const auto* integer = std::get_if<std::int64_t>(&a)) {
    return fold_integers(op, *integer, std::get<std::int64_t>(b), dtype);
  }
  const std::optional<double> x = round_alike(std::get<double>(a), dtype);
  const std::optional<double> y = round_alike(std::get<double>(b), dtype);
  if (!x || !y || is_fp8(dtype)) return std::nullopt;
  if (dtype == DType::kF64) return fold_floats<double>(op, *x, *y, dtype);
  return fold_floats<float>(op, static_cast<float>(*x), static_cast<float>(*y), dtype);
}

Maybe fold_fma(const std::array<const Attribute*, 3>& operands, DType dtype) {
  std::array<double, 3> exact = {};
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const std::optional<double> value = round_alike(std::get<double>(*operands.at(i)), dtype);
    if (!value) return std::nullopt;
    exact.at(i) = *value;
  }
  if (dtype == DType::kF64) return Attribute(std::fma(exact[0], exact[1], exact[2]));
  const float in_f32 = std::fma(static_cast<float>(exact[0]), static_cast<float>(exact[1]),
                                static_cast<float>(exact[2]));
  return Attribute(round_to(static_cast<double>(in_f32), dtype));
}

Attribute fold_philox(const std::array<const Attribute*, 3>& operands, std::int64_t word) {
  const auto number = [&](std::size_t i) { return bits(std::get<std::int64_t>(*operands.at(i))); };
  const std::array<std::uint32_t, 4> block = philox(number(0), number(1), number(2));
  return Attribute(std::int64_t{block.at(static_cast<std::size_t>(word))});
}

}  // namespace

std::int64_t wrap(std::int64_t value, DType dtype) {
  const int unused = 64 - 8 * num_bytes(dtype);
  const std::uint64_t shifted = bits(value) << unused;
  return is_signed(dtype) ? static_cast<std::int64_t>(shifted) >> unused
                          : static_cast<std::int64_t>(shifted >> unused);
}

double round_to(double value, DType dtype) {
  if (dtype == DType::kF64 || !std::isfinite(value) || value == 0.0) return value;
  if (dtype == DType::kF32) return static_cast<double>(static_cast<float>(value));
  const bool is_half = dtype == DType::kF16;
  const int fraction_bits = is_half ? 10 : 7;
  const int least_exponent = is_half ? -14 : -126;
  const double largest = is_half ? 65504.0 : 0x1.fep127;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const double unit = std::ldexp(1.0, exponent - fraction_bits);
  const double rounded = std::nearbyint(value / unit) * unit;  // both steps are exact
  return std::fabs(rounded) > largest
             ? std::copysign(std::numeric_limits<double>::infinity(), value)
             : std::copysign(rounded, value);
}

std::optional<Attribute> fold(const Statement& op) {
  if (op.kind != StatementKind::kOp || op.results.size() != 1 || op.operands.empty() ||
      op.operands.size() > 3 || op.op->effect != Effect::kPure) {
    return std::nullopt;
  }
  std::array<const Attribute*, 3> constants = {};
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (!op.operands[i]->type.is_scalar()) return std::nullopt;
    constants.at(i) = constant_value(op.operands[i]);
    if (constants.at(i) == nullptr) return std::nullopt;
  }
  const DType dtype = op.operands[0]->type.dtype;
  if (op.is("cast") && op.attributes.size() > 1) return std::nullopt;  // rounded or saturating
  if (op.is("cast")) return fold_cast(*constants[0], dtype, op.dtype("dtype"));
  if (op.is("bitcast")) return fold_bitcast(*constants[0], dtype, op.dtype("dtype"));
  if (is_fp8(dtype) || !op.result()->type.is_scalar()) return std::nullopt;
  if (op.is("fma")) return fold_fma(constants, dtype);
  if (op.is("philox")) return fold_philox(constants, op.integer("word"));
  if (op.operands.size() > 2) return std::nullopt;
  return op.operands.size() == 1 ? fold_unary(op.op->name, *constants[0], dtype)
                                 : fold_binary(op.op->name, *constants[0], *constants[1], dtype);
}

}  // namespace tilewire

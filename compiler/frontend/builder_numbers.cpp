#include <fmt/format.h>

#include <limits>

#include "compiler/frontend/builder.h"
#include "compiler/ir/number_range.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

DType dtype_of(const Operand& operand, DType of_literal) {
  auto* const* value = std::get_if<Value*>(&operand);
  return value == nullptr ? of_literal : (*value)->type.dtype;
}

/// The op that makes a float whole the way a cast to an integer is to round.
std::string_view whole_number_op(std::string_view rounding) {
  if (rounding == "nearest") return "round";
  if (rounding == "up") return "ceil";
  return rounding == "down" ? "floor" : "trunc";
}

}  // namespace

Value* Builder::arange(std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype) {
  if (step == 0) fail("arange: the step is 0");
  const auto distance = static_cast<__int128>(stop) - start;
  const __int128 count = (distance + step + (step > 0 ? -1 : 1)) / step;
  const bool is_empty = distance == 0 || (distance > 0) != (step > 0);
  if (is_empty || count > range_of(DType::kI32).largest) {  // refused there
    return emit("arange", {}, {{"start", start}, {"stop", is_empty ? start : stop}})->result();
  }
  const auto last = static_cast<std::int64_t>(start + (count - 1) * step);
  if (is_integer(dtype) && !(holds(dtype, start) && holds(dtype, last))) {
    fail(fmt::format("arange: {} to {} doesn't fit {}", start, last, name_of(dtype)));
  }
  const bool is_narrow = holds(DType::kI32, start) && holds(DType::kI32, last);
  if (step == 1 && is_narrow) {
    return cast(emit("arange", {}, {{"start", start}, {"stop", stop}})->result(), dtype);
  }
  const auto size = static_cast<std::int64_t>(count);
  Value* number = emit("arange", {}, {{"start", std::int64_t{0}}, {"stop", size}})->result();
  number = cast(number, is_narrow ? DType::kI32 : DType::kI64);
  return cast(binary("add", binary("mul", number, step), start), dtype);
}

Value* Builder::cast(Operand operand, DType dtype, std::string_view rounding,
                     std::optional<bool> saturate) {
  for (const std::string_view known : {"nearest", "toward_zero", "up", "down"}) {
    if (rounding != known) continue;
    const DType from = dtype_of(operand, common_dtype_of({operand}));
    if (is_float(from) && is_integer(dtype) && !saturate) {
      return cast(unary(whole_number_op(rounding), operand), dtype);
    }
    Attributes attributes = {{"dtype", dtype}};
    if (rounding != "nearest") attributes.emplace("rounding", std::string(rounding));
    if (saturate && *saturate != (dtype == DType::kE4M3)) attributes.emplace("saturate", *saturate);
    if (attributes.size() == 1) return cast(operand, dtype);
    return emit("cast", {materialise(operand, from)}, std::move(attributes))->result();
  }
  fail(fmt::format("cast: rounding='{}' is unknown; one of: nearest, toward_zero, up, down",
                   rounding));
}

Value* Builder::bitcast(Operand operand, DType dtype) {
  Value* value = materialise(operand, common_dtype_of({operand}));
  if (value->type.dtype == dtype) return value;
  return emit("bitcast", {value}, {{"dtype", dtype}})->result();
}

Value* Builder::fma(Operand a, Operand b, Operand c) {
  const DType common = common_dtype_of({a, b, c});
  return elementwise("fma", {a, b, c}, is_fp8(common) ? DType::kF32 : common);
}

Value* Builder::clamp(Operand x, Operand low, Operand high) {
  const DType dtype = dtype_of(x, common_dtype_of({x, low, high}));
  return binary("minimum", binary("maximum", x, cast(low, dtype)), cast(high, dtype));
}

Value* Builder::isnan(Operand x) {
  Value* value = materialise(x, common_dtype_of({x}));
  return binary("ne", value, value);
}

Value* Builder::isinf(Operand x) {
  Value* value = materialise(x, common_dtype_of({x}));
  if (!is_float(value->type.dtype)) value = cast(value, DType::kF32);
  return binary("eq", unary("abs", value), std::numeric_limits<double>::infinity());
}

Value* Builder::philox_word(const std::array<Operand, 3>& operands, std::int64_t word) {
  const std::vector<Operand> all(operands.begin(), operands.end());
  const std::vector<std::int64_t> shape = common_shape_of("philox", all);
  Values values;
  for (const Operand& operand : all) {
    if (is_float(dtype_of(operand, DType::kI64)) || std::holds_alternative<double>(operand)) {
      fail("philox: seed, counter and stream are integers");
    }
    Value* value = cast(operand, DType::kU64);
    values.push_back(value->type.is_tile() ? broadcast(value, shape) : value);
  }
  return emit("philox", std::move(values), {{"word", word}})->result();
}

std::array<Value*, 4> Builder::philox(Operand seed, Operand counter, Operand stream) {
  const std::array<Operand, 3> operands = {seed, counter, stream};
  return {philox_word(operands, 0), philox_word(operands, 1), philox_word(operands, 2),
          philox_word(operands, 3)};
}

Value* Builder::uniform(Operand seed, Operand counter, Operand stream) {
  Value* bits = philox_word({seed, counter, stream}, 0);
  Value* fraction = binary("shift_right", bits, std::int64_t{8});  // 24 bits: an f32 holds them
  return binary("mul", cast(fraction, DType::kF32), 0x1p-24);
}

}  // namespace tilewire

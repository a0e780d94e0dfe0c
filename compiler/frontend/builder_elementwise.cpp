#include <fmt/format.h>

#include <algorithm>

#include "compiler/frontend/builder.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

const Value* value_of(const Operand& operand) {
  auto* const* value = std::get_if<Value*>(&operand);
  return value == nullptr ? nullptr : *value;
}

bool is_comparison(std::string_view op) {
  return op == "eq" || op == "ne" || op == "lt" || op == "le" || op == "gt" || op == "ge";
}

bool takes_integers(std::string_view op) {
  return op == "neg" || op == "abs" || op == "not" || op == "popcount" || op == "clz";
}

bool is_bitwise(std::string_view op) { return op == "and" || op == "or" || op == "xor"; }

}  // namespace

/// The dtype that operands meet in. Literals take the dtype of the values they meet; a literal with
/// a point turns integers into f32. Literals alone: bool, i64 or f32.
DType Builder::common_dtype_of(const std::vector<Operand>& operands) const {
  std::optional<DType> common;
  bool has_float_literal = false;
  bool has_integer_literal = false;
  for (const Operand& operand : operands) {
    if (const Value* value = value_of(operand)) {
      if (!value->type.is_scalar() && !value->type.is_tile()) {
        fail(fmt::format("{} is a place in memory, not a number: read it with tw.load first",
                         value->type.to_string()));
      }
      common = common ? common_dtype(*common, value->type.dtype) : value->type.dtype;
    } else {
      has_float_literal |= std::holds_alternative<double>(operand);
      has_integer_literal |= std::holds_alternative<std::int64_t>(operand);
    }
  }
  if (!common) {
    return has_float_literal ? DType::kF32 : has_integer_literal ? DType::kI64 : DType::kBool;
  }
  if (has_float_literal && !is_float(*common)) return DType::kF32;
  if (has_integer_literal && *common == DType::kBool) return DType::kI32;
  return *common;
}

/// NumPy's rule, for tiles; scalars fit everywhere. Empty: scalars only.
std::vector<std::int64_t> Builder::common_shape_of(std::string_view op,
                                                   const std::vector<Operand>& operands) const {
  std::vector<std::int64_t> common;
  for (const Operand& operand : operands) {
    const Value* value = value_of(operand);
    if (value == nullptr || !value->type.is_tile()) continue;
    const std::vector<std::int64_t>& shape = value->type.shape;
    const std::vector<std::int64_t> before = common;
    if (shape.size() > common.size())
      common.insert(common.begin(), shape.size() - common.size(), 1);
    const std::size_t lead = common.size() - shape.size();
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& extent = common[lead + i];
      if (extent != shape[i] && extent != 1 && shape[i] != 1) {
        fail(fmt::format(
            "{}: shapes {} and {} don't broadcast: extents must be equal or 1, from the "
            "right",
            op, shape_to_string(before), shape_to_string(shape)));
      }
      extent = extent == 1 ? shape[i] : extent;
    }
  }
  return common;
}

Value* Builder::elementwise(std::string_view op, const std::vector<Operand>& operands,
                            DType dtype) {
  const std::vector<std::int64_t> shape = common_shape_of(op, operands);
  Values values;
  for (const Operand& operand : operands) {
    Value* value = cast(operand, dtype);
    values.push_back(value->type.is_tile() ? broadcast(value, shape) : value);
  }
  return emit(op, std::move(values))->result();
}

Value* Builder::unary(std::string_view op, Operand operand) {
  DType dtype = common_dtype_of({operand});
  if (is_fp8(dtype)) dtype = DType::kF32;
  if (std::holds_alternative<std::int64_t>(operand) && !takes_integers(op)) dtype = DType::kF32;
  return elementwise(op, {operand}, dtype);
}

Value* Builder::binary(std::string_view op, Operand a, Operand b) {
  DType dtype = common_dtype_of({a, b});
  if (is_fp8(dtype)) dtype = DType::kF32;
  if (op == "div" && !is_float(dtype)) dtype = DType::kF32;
  if (dtype == DType::kBool && !is_comparison(op) && !is_bitwise(op)) dtype = DType::kI32;
  return elementwise(op, {a, b}, dtype);
}

Value* Builder::where(Operand condition, Operand a, Operand b) {
  const DType dtype = common_dtype_of({a, b});
  const std::vector<std::int64_t> shape = common_shape_of("where", {condition, a, b});
  Values values = {cast(condition, DType::kBool), cast(a, dtype), cast(b, dtype)};
  for (Value*& value : values) {
    if (value->type.is_tile()) value = broadcast(value, shape);
  }
  return emit("select", std::move(values))->result();
}

Value* Builder::cast(Operand operand, DType dtype) {
  const Value* value = value_of(operand);
  if (value == nullptr) return constant(operand, dtype);
  if (value->type.dtype == dtype && !value->type.is_view()) return std::get<Value*>(operand);
  return emit("cast", {std::get<Value*>(operand)}, {{"dtype", dtype}})->result();
}

Value* Builder::full(std::vector<std::int64_t> shape, Operand value, DType dtype) {
  Value* element = cast(value, dtype);
  if (shape.empty() && element->type.is_scalar()) return element;
  return emit("full", {element}, {{"shape", std::move(shape)}})->result();
}

Value* Builder::zeros(std::vector<std::int64_t> shape, DType dtype) {
  return full(std::move(shape), std::int64_t{0}, dtype);
}

Value* Builder::reshape(Value* tile, std::vector<std::int64_t> shape) {
  if (tile->type.is_tile() && tile->type.shape == shape) return tile;
  return emit("reshape", {tile}, {{"shape", std::move(shape)}})->result();
}

Value* Builder::broadcast(Operand operand, std::vector<std::int64_t> shape) {
  Value* value = materialise(operand, common_dtype_of({operand}));
  if (value->type.is_scalar()) return full(std::move(shape), value, value->type.dtype);
  if (value->type.is_tile() && value->type.rank() < static_cast<int>(shape.size())) {
    std::vector<std::int64_t> padded = value->type.shape;
    padded.insert(padded.begin(), shape.size() - padded.size(), 1);
    value = reshape(value, padded);
  }
  if (value->type.is_tile() && value->type.shape == shape) return value;
  return emit("broadcast", {value}, {{"shape", std::move(shape)}})->result();
}

Value* Builder::extract(Value* tile, const std::vector<Operand>& indices) {
  if (!tile->type.is_tile() || tile->type.shape.size() != indices.size()) {
    fail(fmt::format("{} indices into {}", indices.size(), tile->type.to_string()));
  }
  Values operands = {tile};
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Operand index = indices[i];
    if (auto* literal = std::get_if<std::int64_t>(&index)) {
      const std::int64_t extent = tile->type.shape[i];
      if (*literal < -extent || *literal >= extent) {
        fail(fmt::format("index {} of a dimension of {} elements", *literal, extent));
      }
      if (*literal < 0) *literal += extent;
    }
    operands.push_back(to_index(index, "an index"));
  }
  return emit("extract", std::move(operands))->result();
}

Value* Builder::reduce(std::string_view op, Value* tile, std::optional<int> axis) {
  Attributes attributes;
  if (axis) attributes.emplace("axis", to_axis(op, tile, *axis));
  const bool is_logical = op == "any" || op == "all";
  if (is_logical && tile->type.is_tile()) tile = cast(tile, DType::kBool);
  return emit(op, {tile}, std::move(attributes))->result();
}

}  // namespace tilewire

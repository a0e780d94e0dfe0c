#include <fmt/format.h>

#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

/// Drops the axis; without one, all of them.
Type without_axis(const OpCall& call, DType dtype) {
  const Type& tile = require_tile(call, 0);
  if (call.attributes.find("axis") == call.attributes.end()) return Type::scalar(dtype);
  const std::int64_t axis = integer_attribute(call, "axis");
  if (axis < 0 || axis >= tile.rank()) {
    call.fail(fmt::format("axis {} of a tile of shape {}", axis, shape_to_string(tile.shape)));
  }
  std::vector<std::int64_t> shape = tile.shape;
  shape.erase(shape.begin() + axis);
  return shape.empty() ? Type::scalar(dtype) : Type::tile(dtype, shape);
}

void refuse_fp8(const OpCall& call, DType dtype) {
  if (is_float(dtype) && num_bytes(dtype) == 1) {
    call.fail(fmt::format("{} has no arithmetic of its own; cast it to f32", name_of(dtype)));
  }
}

std::vector<Type> infer_sum(const OpCall& call) {
  const DType dtype = require_tile(call, 0).dtype;
  refuse_fp8(call, dtype);
  if (is_float(dtype)) return {without_axis(call, dtype == DType::kF64 ? dtype : DType::kF32)};
  if (num_bytes(dtype) >= 4) return {without_axis(call, dtype)};
  const bool is_unsigned = dtype != DType::kBool && !is_signed(dtype);
  return {without_axis(call, is_unsigned ? DType::kU32 : DType::kI32)};
}

std::vector<Type> infer_extremum(const OpCall& call) {
  const DType dtype = require_tile(call, 0).dtype;
  refuse_fp8(call, dtype);
  if (dtype == DType::kBool) call.fail("works on numbers, got bool");
  return {without_axis(call, dtype)};
}

OpInfo reduce_op(std::string_view name, std::string_view summary,
                 std::vector<Type> (*infer)(const OpCall&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"axis", AttributeSpec::Kind::kInteger, false, "from 0; absent: all of them"}};
  op.infer = infer;
  return op;
}

}  // namespace

std::vector<OpInfo> reduce_ops() {
  return {
      reduce_op("sum",
                "The sum: of f64 in f64, of other floats in f32, of bool and narrow integers in 32 "
                "bits.",
                infer_sum),
      reduce_op("max", "The largest element; NaN wins.", infer_extremum),
      reduce_op("min", "The smallest element; NaN wins.", infer_extremum),
  };
}

}  // namespace tilewire

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/layouts.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

/// Drops the axis; without one, all of them.
Type without_axis(const OpCall& call, DType dtype) {
  const Type& tile = require_tile(call, 0);
  if (call.attributes.find("axis") == call.attributes.end()) return Type::scalar(dtype);
  const std::int64_t axis = require_axis(call);
  std::vector<std::int64_t> shape = tile.shape;
  shape.erase(shape.begin() + axis);
  return shape.empty() ? Type::scalar(dtype) : Type::tile(dtype, shape);
}

std::vector<Type> infer_sum(const OpCall& call) {
  return {without_axis(call, sum_dtype(call, require_tile(call, 0).dtype))};
}

std::vector<Type> infer_extremum(const OpCall& call) {
  const DType dtype = require_tile(call, 0).dtype;
  refuse_fp8(call, dtype);
  if (dtype == DType::kBool) {
    call.fail("works on numbers, got bool; any is the largest of bools, all the smallest");
  }
  return {without_axis(call, dtype)};
}

std::vector<Type> infer_logical(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  if (tile.dtype != DType::kBool) {
    call.fail(fmt::format("takes a tile of bool, found {}", tile.to_string()));
  }
  return {without_axis(call, DType::kBool)};
}

std::optional<std::int64_t> axis_of(const Statement& statement) {
  if (!statement.has("axis")) return std::nullopt;
  return statement.integer("axis");
}

void emit_cpu_sum(const Statement& statement, CpuEmitter& emitter) {
  const DType dtype = statement.result()->type.dtype;
  ScalarEmitter& scalars = emitter.scalars();
  emitter.reduce(statement, axis_of(statement),
                 is_float(dtype) ? scalars.number(0.0, dtype) : scalars.integer(0, dtype),
                 [](ScalarEmitter& s, CpuScalar sum, CpuScalar x) { return s.accumulate(sum, x); });
}

/// The value below (sign -1) or above (sign 1) all others of the dtype.
CpuScalar end_of_range(ScalarEmitter& scalars, DType dtype, int sign) {
  if (is_float(dtype)) {
    return scalars.number(sign * std::numeric_limits<double>::infinity(), dtype);
  }
  const int num_bits = 8 * num_bytes(dtype);
  if (!is_signed(dtype)) return scalars.integer(sign < 0 ? 0 : -1, dtype);
  const auto smallest =
      static_cast<std::int64_t>(~std::uint64_t{0} << static_cast<unsigned>(num_bits - 1));
  return scalars.integer(sign < 0 ? smallest : ~smallest, dtype);
}

void emit_cpu_max(const Statement& statement, CpuEmitter& emitter) {
  emitter.reduce(statement, axis_of(statement),
                 end_of_range(emitter.scalars(), statement.result()->type.dtype, -1),
                 [](ScalarEmitter& s, CpuScalar a, CpuScalar x) { return s.maximum(a, x); });
}

void emit_cpu_min(const Statement& statement, CpuEmitter& emitter) {
  emitter.reduce(statement, axis_of(statement),
                 end_of_range(emitter.scalars(), statement.result()->type.dtype, 1),
                 [](ScalarEmitter& s, CpuScalar a, CpuScalar x) { return s.minimum(a, x); });
}

void emit_cpu_any(const Statement& statement, CpuEmitter& emitter) {
  emitter.reduce(statement, axis_of(statement), emitter.scalars().integer(0, DType::kBool),
                 [](ScalarEmitter& s, CpuScalar a, CpuScalar x) { return s.bit_or(a, x); });
}

void emit_cpu_all(const Statement& statement, CpuEmitter& emitter) {
  emitter.reduce(statement, axis_of(statement), emitter.scalars().integer(1, DType::kBool),
                 [](ScalarEmitter& s, CpuScalar a, CpuScalar x) { return s.bit_and(a, x); });
}

/// What the result is of the operand's rows, where it lies in the registers that hold them.
Slice slice_of(const Statement& statement) {
  const Type& tile = statement.operands.at(0)->type;
  const Type& result = statement.result()->type;
  const Slice slice = slice_left_by_reduction(tile, statement.integer("axis"));
  const Layout layout = layout_of_slice(slice, tile);
  return layout.is_known() && layout == result.layout ? slice : Slice::kNone;
}

/// What a thread has of one row.
int slots_per_row(const Type& tile) {
  const auto columns = static_cast<int>(tile.shape.back());
  return device::divide_up(columns, tile.layout.vector * tile.layout.lanes) * tile.layout.vector;
}

int reduce_shared_bytes(const Statement& statement, int num_threads) {
  const Type& tile = statement.operands.at(0)->type;
  const Type& result = statement.result()->type;
  const int accumulator_bytes = std::max(num_bytes(result.dtype), 4);
  if (result.is_scalar()) {
    if (num_threads <= device::kWarpThreads) return 0;
    return device::reduce_bytes(num_threads, accumulator_bytes);
  }
  switch (slice_of(statement)) {
    case Slice::kPerRow:
      return device::reduce_rows_bytes(static_cast<int>(result.num_elements()), tile.layout.lanes,
                                       num_threads, accumulator_bytes);
    case Slice::kPerColumn:
      return device::reduce_columns_bytes(slots_per_row(tile), tile.layout.lanes, num_threads,
                                          accumulator_bytes);
    case Slice::kNone:
      break;
  }
  return std::max(
      device::piece_bytes(static_cast<int>(tile.num_elements()), num_bytes(tile.dtype)),
      device::piece_bytes(static_cast<int>(result.num_elements()), num_bytes(result.dtype)));
}

void emit_reduce_cuda(const Statement& statement, CudaEmitter& emitter) {
  static const std::map<std::string_view, std::string_view> functors = {
      {"sum", "Sum"}, {"max", "Max"}, {"min", "Min"}, {"any", "Any"}, {"all", "All"}};
  emitter.include("reduce.cuh");
  const Value* tile = statement.operands.at(0);
  const Value* result = statement.result();
  const std::string functor = fmt::format("tw::{}", functors.at(statement.op->name));
  const std::string type = emitter.type(result->type);
  const auto define = [&](const std::string& function) {
    emitter.define_here(
        result,
        fmt::format("{}({}, {})", function, emitter.argument(tile), emitter.shared(statement)),
        statement.op->name);
  };
  if (result->type.is_scalar()) return define(fmt::format("tw::reduce<{}, {}>", functor, type));
  switch (slice_of(statement)) {
    case Slice::kPerRow:
      return define(fmt::format("tw::reduce_rows<{}, {}>", functor, type));
    case Slice::kPerColumn:
      return define(fmt::format("tw::reduce_columns<{}, {}>", functor, type));
    case Slice::kNone:
      return define(fmt::format("tw::reduce_axis<{}, {}, {}, {}>", functor,
                                statement.integer("axis"), emitter.extents(tile->type), type));
  }
}

OpInfo reduce_op(std::string_view name, std::string_view summary,
                 std::vector<Type> (*infer)(const OpCall&),
                 void (*emit_cpu)(const Statement&, CpuEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"axis", AttributeSpec::Kind::kInteger, false, "from 0; absent: all of them"}};
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_reduce_cuda;
  op.cuda_shared_bytes = reduce_shared_bytes;
  op.reduces_axis = true;
  return op;
}

}  // namespace

std::vector<OpInfo> reduce_ops() {
  return {
      reduce_op("sum",
                "The sum: of f64 in f64, of other floats in f32, of bool and narrow integers in 32 "
                "bits.",
                infer_sum, emit_cpu_sum),
      reduce_op("max", "The largest element; NaN wins.", infer_extremum, emit_cpu_max),
      reduce_op("min", "The smallest element; NaN wins.", infer_extremum, emit_cpu_min),
      reduce_op("any", "Whether any element of a tile of bool is true.", infer_logical,
                emit_cpu_any),
      reduce_op("all", "Whether all elements of a tile of bool are true.", infer_logical,
                emit_cpu_all),
  };
}

}  // namespace tilewire

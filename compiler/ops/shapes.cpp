#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/movement.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_full(const OpCall& call) {
  const auto& shape = integers_attribute(call, "shape");
  require_tile_shape(call, shape);
  return {Type::tile(require_scalar(call, 0).dtype, shape)};
}

std::vector<Type> infer_arange(const OpCall& call) {
  const std::int64_t start = integer_attribute(call, "start");
  const std::int64_t stop = integer_attribute(call, "stop");
  if (stop <= start) call.fail(fmt::format("arange({}, {}) is empty", start, stop));
  if (start < INT32_MIN || stop > INT32_MAX) {
    call.fail(fmt::format("arange({}, {}) doesn't fit i32", start, stop));
  }
  return {Type::tile(DType::kI32, {stop - start})};
}

std::vector<Type> infer_broadcast(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  const auto& shape = integers_attribute(call, "shape");
  require_tile_shape(call, shape);
  bool fits = shape.size() == tile.shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = tile.shape[i] == shape[i] || tile.shape[i] == 1;
  }
  if (!fits) {
    call.fail(fmt::format("shape {} doesn't broadcast to {}", shape_to_string(tile.shape),
                          shape_to_string(shape)));
  }
  return {Type::tile(tile.dtype, shape)};
}

std::vector<Type> infer_reshape(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  const auto& shape = integers_attribute(call, "shape");
  require_tile_shape(call, shape);
  const Type result = Type::tile(tile.dtype, shape);
  if (result.num_elements() != tile.num_elements()) {
    call.fail(fmt::format("{} has {} elements, {} has {}", shape_to_string(tile.shape),
                          tile.num_elements(), shape_to_string(shape), result.num_elements()));
  }
  return {result};
}

std::vector<Type> infer_extract(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  if (call.operands.size() != 1U + tile.shape.size()) {
    call.fail(
        fmt::format("{} indices for a tile of rank {}", call.operands.size() - 1, tile.rank()));
  }
  for (std::size_t i = 1; i < call.operands.size(); ++i) require_index(call, i);
  return {Type::scalar(tile.dtype)};
}

void emit_cpu_full(const Statement& statement, CpuEmitter& emitter) {
  const CpuScalar value = emitter.scalar(statement.operands[0]);
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [value](ScalarEmitter&, const CpuIndex&) { return value; });
}

void emit_cpu_arange(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t start = statement.integer("start");
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [start](ScalarEmitter& scalars, const CpuIndex& index) {
                        const CpuScalar value = scalars.add(index[0], scalars.integer(start));
                        return scalars.cast(value, DType::kI32);
                      });
}

void emit_cpu_broadcast(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [tile, &emitter](ScalarEmitter& scalars, const CpuIndex& index) {
                        CpuIndex position = index;
                        for (std::size_t i = 0; i < position.size(); ++i) {
                          if (tile->type.shape[i] == 1) position[i] = scalars.integer(0);
                        }
                        return emitter.element(tile, position);
                      });
}

/// The index with the same place in row-major order. No index is out of range, so that the
/// quotient needs no correction for negative numbers.
CpuIndex reshape_index(ScalarEmitter& scalars, const CpuIndex& index,
                       const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to) {
  CpuScalar flat = index[0];
  for (std::size_t i = 1; i < from.size(); ++i) {
    flat = scalars.add(scalars.mul(flat, scalars.integer(from[i])), index[i]);
  }
  CpuIndex position(to.size());
  flat = scalars.cast(flat, DType::kU64);
  for (std::size_t i = to.size(); i-- > 0;) {
    const CpuScalar extent = scalars.integer(to[i], DType::kU64);
    position[i] = scalars.cast(i > 0 ? scalars.mod(flat, extent) : flat, DType::kI64);
    if (i > 0) flat = scalars.floor_div(flat, extent);
  }
  return position;
}

void emit_cpu_reshape(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  const std::vector<std::int64_t> shape = statement.result()->type.shape;
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [tile, shape, &emitter](ScalarEmitter& scalars, const CpuIndex& index) {
                        return emitter.element(
                            tile, reshape_index(scalars, index, shape, tile->type.shape));
                      });
}

void emit_cpu_extract(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  ScalarEmitter& scalars = emitter.scalars();
  CpuIndex position;
  CpuScalar is_inside = scalars.integer(1, DType::kBool);
  for (std::size_t i = 0; i < tile->type.shape.size(); ++i) {
    // As unsigned numbers, negative indices are large.
    const CpuScalar index = emitter.scalar(statement.operands[i + 1]);
    const CpuScalar is_inside_here =
        scalars.compare(Comparison::kLt, scalars.cast(index, DType::kU64),
                        scalars.integer(tile->type.shape[i], DType::kU64));
    position.push_back(scalars.select(is_inside_here, index, scalars.integer(0)));
    is_inside = scalars.bit_and(is_inside, is_inside_here);
  }
  const CpuScalar element = emitter.element(tile, position);
  const CpuScalar zero = scalars.cast(scalars.integer(0), tile->type.dtype);
  emitter.define(statement.result(), scalars.select(is_inside, element, zero));
}

void emit_full_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* result = statement.result();
  emitter.define(result, fmt::format("tw::full<{}>({})", emitter.type(result->type),
                                     emitter.argument(statement.operands.at(0))));
}

void emit_arange_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* result = statement.result();
  emitter.define(result, fmt::format("tw::arange<{}>({})", emitter.type(result->type),
                                     statement.integer("start")));
}

OpInfo shape_op(std::string_view name, std::string_view summary, int num_operands,
                std::vector<Type> (*infer)(const OpCall&),
                void (*emit_cpu)(const Statement&, CpuEmitter&),
                void (*emit_cuda)(const Statement&, CudaEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = num_operands;
  op.attributes = {{"shape", AttributeSpec::Kind::kIntegers, true, "of the result"}};
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_cuda;
  return op;
}

OpInfo moving_op(OpInfo op) {
  op.cuda_shared_bytes = moved_shared_bytes;
  return op;
}

OpInfo arange_op() {
  OpInfo op;
  op.name = "arange";
  op.summary = "start, start + 1, … below stop, as i32.";
  op.attributes = {{"start", AttributeSpec::Kind::kInteger, true, "the first element"},
                   {"stop", AttributeSpec::Kind::kInteger, true, "one past the last"}};
  op.infer = infer_arange;
  op.emit_cpu = emit_cpu_arange;
  op.emit_cuda = emit_arange_cuda;
  return op;
}

OpInfo extract_op() {
  OpInfo op;
  op.name = "extract";
  op.summary = "One element of a tile; an index outside gives 0.";
  op.min_operands = 2;
  op.max_operands = 4;
  op.infer = infer_extract;
  op.emit_cpu = emit_cpu_extract;
  op.emit_cuda = emit_extract_cuda;
  op.cuda_shared_bytes = extract_shared_bytes;
  return op;
}

}  // namespace

std::vector<OpInfo> shape_ops() {
  return {
      shape_op("full", "A tile with one value everywhere.", 1, infer_full, emit_cpu_full,
               emit_full_cuda),
      arange_op(),
      moving_op(shape_op("broadcast", "Repeats extents of 1; the rank stays.", 1, infer_broadcast,
                         emit_cpu_broadcast, emit_moved_cuda)),
      moving_op(shape_op("reshape", "The same elements in row-major order under another shape.", 1,
                         infer_reshape, emit_cpu_reshape, emit_moved_cuda)),
      extract_op(),
  };
}

}  // namespace tilewire

#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/moves.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

using Shape = std::vector<std::int64_t>;

std::vector<Type> infer_transpose(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  const Shape& axes = integers_attribute(call, "axes");
  Shape sorted = axes;
  std::ranges::sort(sorted);
  Shape shape;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i)) sorted.clear();
  }
  if (sorted.size() != tile.shape.size()) {
    call.fail(fmt::format("axes {} of a tile of shape {}: name each dimension once",
                          shape_to_string(axes), shape_to_string(tile.shape)));
  }
  for (const std::int64_t axis : axes) shape.push_back(tile.shape[static_cast<std::size_t>(axis)]);
  return {Type::tile(tile.dtype, shape)};
}

std::vector<Type> infer_part(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  const Shape& start = integers_attribute(call, "start");
  const Shape& shape = integers_attribute(call, "shape");
  require_tile_shape(call, shape);
  bool fits = start.size() == tile.shape.size() && shape.size() == tile.shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    fits = start[i] >= 0 && start[i] + shape[i] <= tile.shape[i];
  }
  if (!fits) {
    call.fail(fmt::format("{} elements from {} on aren't a part of a tile of shape {}",
                          shape_to_string(shape), shape_to_string(start),
                          shape_to_string(tile.shape)));
  }
  return {Type::tile(tile.dtype, shape)};
}

std::vector<Type> infer_flip(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  require_axis(call);
  return {Type::tile(tile.dtype, tile.shape)};
}

std::vector<Type> infer_cat(const OpCall& call) {
  const Type& a = require_tile(call, 0);
  const Type& b = require_tile(call, 1);
  const auto axis = static_cast<std::size_t>(require_axis(call));
  Shape shape = a.shape;
  Shape like_a = b.shape;
  if (like_a.size() == shape.size()) like_a[axis] = shape[axis];
  if (like_a != shape || a.dtype != b.dtype) {
    call.fail(fmt::format("{} and {} along axis {}: all else must be equal", a.to_string(),
                          b.to_string(), axis));
  }
  shape[axis] += b.shape[axis];
  require_tile_shape(call, shape);
  return {Type::tile(a.dtype, shape)};
}

std::vector<Type> infer_gather(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  const Type& index = require_tile(call, 1);
  const auto axis = static_cast<std::size_t>(require_axis(call));
  Shape like_tile = index.shape;
  if (like_tile.size() == tile.shape.size()) like_tile[axis] = tile.shape[axis];
  if (like_tile != tile.shape || !is_integer(index.dtype)) {
    call.fail(
        fmt::format("{} by {} along axis {}: the index is of integers, with the extents of "
                    "the tile but for the axis",
                    tile.to_string(), index.to_string(), axis));
  }
  return {Type::tile(tile.dtype, index.shape)};
}

void emit_cpu_transpose(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  const Shape axes = statement.integers("axes");
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [tile, axes, &emitter](ScalarEmitter&, const CpuIndex& index) {
                        CpuIndex position(index.size());
                        for (std::size_t i = 0; i < axes.size(); ++i) {
                          position[static_cast<std::size_t>(axes[i])] = index[i];
                        }
                        return emitter.element(tile, position);
                      });
}

void emit_cpu_part(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  const Shape start = statement.integers("start");
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [tile, start, &emitter](ScalarEmitter& scalars, const CpuIndex& index) {
                        CpuIndex position = index;
                        for (std::size_t i = 0; i < start.size(); ++i) {
                          position[i] = scalars.add(index[i], scalars.integer(start[i]));
                        }
                        return emitter.element(tile, position);
                      });
}

void emit_cpu_flip(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  const auto axis = static_cast<std::size_t>(statement.integer("axis"));
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [tile, axis, &emitter](ScalarEmitter& scalars, const CpuIndex& index) {
                        CpuIndex position = index;
                        position[axis] =
                            scalars.sub(scalars.integer(tile->type.shape[axis] - 1), index[axis]);
                        return emitter.element(tile, position);
                      });
}

/// Both tiles are read, each where it has an element.
void emit_cpu_cat(const Statement& statement, CpuEmitter& emitter) {
  const Value* a = statement.operands[0];
  const Value* b = statement.operands[1];
  const auto axis = static_cast<std::size_t>(statement.integer("axis"));
  emitter.define_tile(
      statement, CpuEmitter::Cost::kComputed,
      [a, b, axis, &emitter](ScalarEmitter& scalars, const CpuIndex& index) {
        const CpuScalar of_a = scalars.integer(a->type.shape[axis]);
        const CpuScalar is_in_a = scalars.compare(Comparison::kLt, index[axis], of_a);
        CpuIndex in_a = index;
        in_a[axis] = scalars.select(is_in_a, index[axis], scalars.integer(0));
        CpuIndex in_b = index;
        in_b[axis] = scalars.select(is_in_a, scalars.integer(0), scalars.sub(index[axis], of_a));
        return scalars.select(is_in_a, emitter.element(a, in_a), emitter.element(b, in_b));
      });
}

void emit_cpu_gather(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  const Value* indices = statement.operands[1];
  const auto axis = static_cast<std::size_t>(statement.integer("axis"));
  emitter.define_tile(
      statement, CpuEmitter::Cost::kComputed,
      [tile, indices, axis, &emitter](ScalarEmitter& scalars, const CpuIndex& index) {
        const CpuScalar at = scalars.cast(emitter.element(indices, index), DType::kI64);
        // As unsigned numbers, negative ones are large.
        const CpuScalar is_inside =
            scalars.compare(Comparison::kLt, scalars.cast(at, DType::kU64),
                            scalars.integer(tile->type.shape[axis], DType::kU64));
        CpuIndex position = index;
        position[axis] = scalars.select(is_inside, at, scalars.integer(0));
        const CpuScalar zero = scalars.cast(scalars.integer(0), tile->type.dtype);
        return scalars.select(is_inside, emitter.element(tile, position), zero);
      });
}

OpInfo move_op(std::string_view name, std::string_view summary, int num_operands,
               std::vector<Type> (*infer)(const OpCall&),
               void (*emit_cpu)(const Statement&, CpuEmitter&),
               void (*emit_cuda)(const Statement&, CudaEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = num_operands;
  op.attributes = {{"axis", AttributeSpec::Kind::kInteger, true, "from 0"}};
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_cuda;
  op.cuda_shared_bytes = moved_bytes;
  return op;
}

OpInfo transpose_op() {
  OpInfo op = move_op("transpose", "The same elements with the dimensions in another order.", 1,
                      infer_transpose, emit_cpu_transpose, emit_walk_cuda);
  op.attributes = {{"axes", AttributeSpec::Kind::kIntegers, true,
                    "the tile's dimension that each of the result's is"}};
  return op;
}

OpInfo part_op() {
  OpInfo op = move_op("part", "A block of neighbouring elements of a tile.", 1, infer_part,
                      emit_cpu_part, emit_part_cuda);
  op.attributes = {{"start", AttributeSpec::Kind::kIntegers, true, "its first element"},
                   {"shape", AttributeSpec::Kind::kIntegers, true, "of the result"}};
  return op;
}

}  // namespace

std::vector<OpInfo> move_ops() {
  return {
      transpose_op(),
      part_op(),
      move_op("flip", "The elements along an axis from the last to the first.", 1, infer_flip,
              emit_cpu_flip, emit_walk_cuda),
      move_op("cat", "Two tiles, one behind the other along an axis.", 2, infer_cat, emit_cpu_cat,
              emit_cat_cuda),
      move_op("gather",
              "Of each line along an axis the elements that an index tile names; 0 where there is "
              "none.",
              2, infer_gather, emit_cpu_gather, emit_gather_cuda),
  };
}

}  // namespace tilewire

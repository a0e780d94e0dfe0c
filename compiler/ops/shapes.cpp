#include <fmt/format.h>

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

OpInfo shape_op(std::string_view name, std::string_view summary, int num_operands,
                std::vector<Type> (*infer)(const OpCall&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = num_operands;
  op.attributes = {{"shape", AttributeSpec::Kind::kIntegers, true, "of the result"}};
  op.infer = infer;
  return op;
}

OpInfo arange_op() {
  OpInfo op;
  op.name = "arange";
  op.summary = "start, start + 1, … below stop, as i32.";
  op.attributes = {{"start", AttributeSpec::Kind::kInteger, true, "the first element"},
                   {"stop", AttributeSpec::Kind::kInteger, true, "one past the last"}};
  op.infer = infer_arange;
  return op;
}

OpInfo extract_op() {
  OpInfo op;
  op.name = "extract";
  op.summary = "One element of a tile; an index outside gives 0.";
  op.min_operands = 2;
  op.max_operands = 4;
  op.infer = infer_extract;
  return op;
}

}  // namespace

std::vector<OpInfo> shape_ops() {
  return {
      shape_op("full", "A tile with one value everywhere.", 1, infer_full),
      arange_op(),
      shape_op("broadcast", "Repeats extents of 1; the rank stays.", 1, infer_broadcast),
      shape_op("reshape", "The same elements in row-major order under another shape.", 1,
               infer_reshape),
      extract_op(),
  };
}

}  // namespace tilewire

#include <fmt/format.h>

#include <algorithm>

#include "compiler/frontend/builder.h"
#include "compiler/ops/op.h"

namespace tilewire {

std::int64_t Builder::to_axis(std::string_view op, const Value* tile, int axis) const {
  const int rank = tile->type.rank();
  if (!tile->type.is_tile())
    fail(fmt::format("{}: takes a tile, got {}", op, tile->type.to_string()));
  if (axis < -rank || axis >= rank) {
    fail(fmt::format("{}: axis {} of a tile of shape {}", op, axis,
                     shape_to_string(tile->type.shape)));
  }
  return axis < 0 ? axis + rank : axis;
}

Values Builder::arg_reduce(std::string_view op, Value* tile, std::optional<int> axis) {
  Attributes attributes;
  if (axis) attributes.emplace("axis", to_axis(op, tile, *axis));
  return emit(op, {tile}, std::move(attributes))->results;
}

Value* Builder::scan(std::string_view op, Value* tile, int axis, bool reverse) {
  Attributes attributes = {{"axis", to_axis(op, tile, axis)}};
  if (reverse) attributes.emplace("reverse", true);
  return emit(op, {tile}, std::move(attributes))->result();
}

Value* Builder::transpose(Value* tile, std::vector<int> axes) {
  const int rank = tile->type.rank();
  std::vector<std::int64_t> order;
  for (const int axis : axes) order.push_back(to_axis("transpose", tile, axis));
  for (int i = rank; axes.empty() && i-- > 0;) order.push_back(i);
  if (static_cast<int>(order.size()) == rank && std::ranges::is_sorted(order)) {
    if (std::ranges::adjacent_find(order) == order.end()) return tile;
  }
  return emit("transpose", {tile}, {{"axes", std::move(order)}})->result();
}

Value* Builder::part(Value* tile, std::vector<std::int64_t> start,
                     std::vector<std::int64_t> shape) {
  if (tile->type.is_tile() && tile->type.shape == shape) return tile;
  return emit("part", {tile}, {{"start", std::move(start)}, {"shape", std::move(shape)}})->result();
}

Value* Builder::flip(Value* tile, int axis) {
  return emit("flip", {tile}, {{"axis", to_axis("flip", tile, axis)}})->result();
}

Value* Builder::cat(Value* a, Value* b, int axis) {
  const std::int64_t dimension = to_axis("cat", a, axis);
  if (a->type.dtype != b->type.dtype) {
    const DType dtype = common_dtype_of({a, b});
    a = cast(a, dtype);
    b = cast(b, dtype);
  }
  return emit("cat", {a, b}, {{"axis", dimension}})->result();
}

Values Builder::split(Value* tile, int axis) {
  const auto dimension = static_cast<std::size_t>(to_axis("split", tile, axis));
  std::vector<std::int64_t> shape = tile->type.shape;
  if (shape[dimension] % 2 != 0) {
    fail(fmt::format("split: dimension {} of {} has no two halves: take parts, as in x[0:2]",
                     dimension, shape_to_string(shape)));
  }
  shape[dimension] /= 2;
  std::vector<std::int64_t> start(shape.size(), 0);
  Value* first = part(tile, start, shape);
  start[dimension] = shape[dimension];
  return {first, part(tile, start, shape)};
}

Value* Builder::stack(const Values& parts) {
  if (parts.empty()) fail("stack: takes one tile or more");
  const bool are_alike = std::ranges::all_of(
      parts, [&](const Value* part) { return part->type.dtype == parts[0]->type.dtype; });
  if (are_alike) return emit("stack", parts)->result();
  const DType dtype = common_dtype_of({parts.begin(), parts.end()});
  Values cast_parts;
  for (Value* part : parts) cast_parts.push_back(cast(part, dtype));
  return emit("stack", std::move(cast_parts))->result();
}

Value* Builder::sort(Value* tile, int axis, bool descending) {
  Attributes attributes = {{"axis", to_axis("sort", tile, axis)}};
  if (descending) attributes.emplace("descending", true);
  return emit("sort", {tile}, std::move(attributes))->result();
}

Values Builder::argsort(Value* tile, int axis, bool descending) {
  Attributes attributes = {{"axis", to_axis("argsort", tile, axis)}};
  if (descending) attributes.emplace("descending", true);
  return emit("argsort", {tile}, std::move(attributes))->results;
}

Value* Builder::gather(Value* tile, Value* index, int axis) {
  return emit("gather", {tile, index}, {{"axis", to_axis("gather", tile, axis)}})->result();
}

Value* Builder::histogram(Value* tile, std::int64_t num_bins) {
  return emit("histogram", {tile}, {{"num_bins", num_bins}})->result();
}

}  // namespace tilewire

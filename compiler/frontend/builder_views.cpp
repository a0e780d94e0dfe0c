#include <fmt/format.h>

#include "compiler/frontend/builder.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/multimem.h"
#include "compiler/support/error.h"

namespace tilewire {

Index Index::at(Operand index) {
  Index made;
  made.kind = Kind::kAt;
  made.first = index;
  return made;
}

Index Index::all() { return {}; }

Index Index::ds(Operand start, std::int64_t size, std::optional<Operand> end) {
  Index made;
  made.end = std::move(end);
  made.kind = Kind::kDs;
  made.first = start;
  made.size = size;
  return made;
}

Index Index::range(Operand lower, Operand upper) {
  Index made;
  made.kind = Kind::kRange;
  made.first = lower;
  made.second = upper;
  return made;
}

Index Index::tile(Value* indices) {
  Index made;
  made.kind = Kind::kTile;
  made.first = indices;
  return made;
}

namespace {

/// `[lower:upper]` with literal, non-negative bounds has a static extent, as `ds` has.
Index with_static_extent(const Index& index) {
  const auto* lower = std::get_if<std::int64_t>(&index.first);
  const auto* upper = std::get_if<std::int64_t>(&index.second);
  const bool is_static = index.kind == Index::Kind::kRange && lower != nullptr &&
                         upper != nullptr && *lower >= 0 && *upper > *lower;
  return is_static ? Index::ds(*lower, *upper - *lower) : index;
}

}  // namespace

Value* Builder::to_index(const Operand& operand, std::string_view what) {
  auto* const* value = std::get_if<Value*>(&operand);
  if (value == nullptr) {
    if (!std::holds_alternative<std::int64_t>(operand)) {
      fail(fmt::format("{} must be an integer", what));
    }
    return constant(operand, kIndex);
  }
  const Type& type = (*value)->type;
  if (!type.is_scalar() || !is_integer(type.dtype)) {
    fail(fmt::format("{} must be an integer scalar, it is {}", what, type.to_string()));
  }
  return cast(*value, kIndex);
}

Value* Builder::to_position(const Operand& operand, Value* view, int dimension) {
  const auto* literal = std::get_if<std::int64_t>(&operand);
  if (literal != nullptr && *literal < 0) return binary("add", extent(view, dimension), *literal);
  return to_index(operand, "an index");
}

Value* Builder::cdiv(Operand a, Operand b) {
  const auto* numerator = std::get_if<std::int64_t>(&a);
  const auto* divisor = std::get_if<std::int64_t>(&b);
  if (divisor != nullptr) {
    if (*divisor <= 0) fail(fmt::format("cdiv by {}", *divisor));
    if (numerator != nullptr) return constant((*numerator + *divisor - 1) / *divisor, kIndex);
    return binary("floordiv", binary("add", a, *divisor - 1), b);
  }
  return binary("floordiv", binary("add", a, binary("sub", b, std::int64_t{1})), b);
}

Value* Builder::at(Value* window, Operand rank, std::string_view team) {
  if (window->type.is_view() && multicast_behind(window) != nullptr) {
    fail("at: this is all ranks' copies at once; leave .multicast() out for one of them");
  }
  return emit("at", {window, to_index(rank, "a rank")}, {{"team", std::string(team)}})->result();
}

Value* Builder::extent(Value* view, int dimension) {
  const Type& type = view->type;
  if (!type.is_view() || dimension < -type.rank() || dimension >= type.rank()) {
    fail(fmt::format("{} has no dimension {}", type.to_string(), dimension));
  }
  if (dimension < 0) dimension += type.rank();
  const auto position = static_cast<std::size_t>(dimension);
  if (type.shape[position] != kDynamic) return constant(type.shape[position], kIndex);
  for (const Parameter& parameter : program_.parameters) {
    if (parameter.value == view) return this->dimension(parameter.shape[position].name);
  }
  return emit("extent", {view}, {{"dimension", std::int64_t{dimension}}})->result();
}

/// Index tiles get the shape that they broadcast to together.
void Builder::broadcast_tiles(std::vector<Index>& indices) {
  std::vector<Operand> tiles;
  for (const Index& index : indices) {
    if (index.kind != Index::Kind::kTile) continue;
    tiles.push_back(index.first);
    const Type& type = std::get<Value*>(index.first)->type;
    if (!type.is_tile() || !is_integer(type.dtype)) {
      fail(fmt::format("{} can't index a view: an index tile holds integers{}", type.to_string(),
                       type.dtype == DType::kBool ? " (a mask goes to where=)" : ""));
    }
  }
  if (tiles.size() < 2) return;
  const std::vector<std::int64_t> shape = common_shape_of("index tiles", tiles);
  for (Index& index : indices) {
    if (index.kind == Index::Kind::kTile) index.first = broadcast(index.first, shape);
  }
}

Value* Builder::slice(Value* view, const std::vector<Index>& given) {
  if (!view->type.is_view()) {
    fail(fmt::format("{} can't be sliced: only tensors, windows and their views can",
                     view->type.to_string()));
  }
  std::vector<Index> indices = given;
  broadcast_tiles(indices);
  if (static_cast<int>(indices.size()) > view->type.rank()) {
    fail(fmt::format("{} indices into {} of rank {}", indices.size(), view->type.to_string(),
                     view->type.rank()));
  }
  Values operands = {view};
  std::vector<SlicePattern> patterns;
  for (int i = 0; i < view->type.rank(); ++i) {
    const bool is_given = i < static_cast<int>(indices.size());
    const Index index =
        is_given ? with_static_extent(indices[static_cast<std::size_t>(i)]) : Index::all();
    switch (index.kind) {
      case Index::Kind::kAt:
        patterns.push_back({SliceIndex::Kind::kAt});
        operands.push_back(to_position(index.first, view, i));
        break;
      case Index::Kind::kAll:
        patterns.push_back({SliceIndex::Kind::kAll});
        break;
      case Index::Kind::kDs:
        patterns.push_back(
            {index.end ? SliceIndex::Kind::kDsBelow : SliceIndex::Kind::kDs, index.size});
        operands.push_back(to_index(index.first, "the start of tw.ds"));
        if (index.end) operands.push_back(to_index(*index.end, "the end of tw.ds"));
        break;
      case Index::Kind::kTile:
        patterns.push_back({SliceIndex::Kind::kTile});
        operands.push_back(std::get<Value*>(index.first));
        break;
      case Index::Kind::kRange:
        patterns.push_back({SliceIndex::Kind::kRange});
        operands.push_back(to_position(index.first, view, i));
        operands.push_back(to_position(index.second, view, i));
        break;
    }
  }
  return emit("slice", std::move(operands), {{"index", slice_pattern_to_string(patterns)}})
      ->result();
}

Value* Builder::load(Value* view, std::optional<Operand> other, Value* where,
                     std::string_view cache) {
  Values operands = {view};
  Attributes attributes;
  if (!cache.empty()) attributes.emplace("cache", std::string(cache));
  if (other) {
    const Type tile = Type::tile(view->type.dtype, view->type.shape);
    auto* const* value = std::get_if<Value*>(&*other);
    const bool is_scalar = value == nullptr || (*value)->type.is_scalar();
    operands.push_back(is_scalar ? cast(*other, view->type.dtype) : fit(*other, tile, "other="));
    attributes.emplace("other", true);
  }
  if (where != nullptr) {
    operands.push_back(where->type.is_scalar()
                           ? where
                           : fit(where, Type::tile(DType::kBool, view->type.shape), "where="));
    attributes.emplace("where", true);
  }
  return emit("load", std::move(operands), std::move(attributes))->result();
}

void Builder::store(Value* view, Operand value, Value* where, std::string_view cache) {
  require_place("store", view);
  auto* const* given = std::get_if<Value*>(&value);
  const bool is_scalar = given == nullptr || (*given)->type.is_scalar();
  Values operands = {view, is_scalar ? cast(value, view->type.dtype)
                                     : fit(value, Type::tile(view->type.dtype, view->type.shape),
                                           "the stored value")};
  Attributes attributes;
  if (!cache.empty()) attributes.emplace("cache", std::string(cache));
  if (where != nullptr) {
    operands.push_back(where->type.is_scalar()
                           ? where
                           : fit(where, Type::tile(DType::kBool, view->type.shape), "where="));
    attributes.emplace("where", true);
  }
  emit("store", std::move(operands), std::move(attributes));
}

}  // namespace tilewire

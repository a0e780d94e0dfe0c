#include "compiler/passes/view_access.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr int kMaxVectorBytes = 16;  // the widest load and store of one thread

Amount product(const Amount& a, const Amount& b, Inserter& insert) {
  std::int64_t constant = 0;
  if (a.is_constant() && b.is_constant() &&
      !__builtin_mul_overflow(a.constant, b.constant, &constant)) {
    return {constant, nullptr};
  }
  if (a.is_constant() && a.constant == 1) return b;
  if (b.is_constant() && b.constant == 1) return a;
  return {kDynamic, insert.op("mul", {a.materialise(insert), b.materialise(insert)})};
}

/// Whether `bounds` proves that `first` .. `first + count - 1` lie in 0 .. extent - 1.
bool is_inside(Value* first, std::int64_t count, const Amount& extent, Bounds& bounds) {
  if (!bounds.is_at_least(first, 0)) return false;
  if (!extent.is_constant()) return bounds.at_least(extent.value, first, count);
  const std::optional<Linear> room =
      add_scaled(Linear::of(extent.constant - count), bounds.linear(first), -1);
  return room && bounds.is_non_negative(*room);
}

Value* minimum(Value* a, Value* b, Inserter& insert) { return insert.op("minimum", {a, b}); }

/// Guards that one index falls inside, as far as they aren't proven.
void guard(LoweredView& view, Value* index, const Amount& extent, Bounds& bounds,
           Inserter& insert) {
  if (!bounds.is_at_least(index, 0)) {
    view.guards.push_back(insert.op("ge", {index, insert.constant(0)}));
  }
  const bool is_below = extent.is_constant() ? [&] {
    const auto room = add_scaled(Linear::of(extent.constant - 1), bounds.linear(index), -1);
    return room && bounds.is_non_negative(*room);
  }()
                                             : bounds.at_least(extent.value, index, 1);
  if (!is_below) view.guards.push_back(insert.op("lt", {index, extent.materialise(insert)}));
}

void slice_at(LoweredView& view, const ViewDimension& from, Value* index, Bounds& bounds,
              Inserter& insert) {
  view.terms.push_back({index, from.stride, from.source});
  const std::size_t num_guards = view.guards.size();
  guard(view, index, from.extent, bounds, insert);
  if (from.mask) {
    Value* position = insert.op("add", {from.mask->begin, index});
    guard(view, position, {kDynamic, from.mask->bound}, bounds, insert);
  }
  view.has_inner_guard |= !from.is_whole && view.guards.size() > num_guards;
}

/// The elements start, start + 1, … of a dimension, `size` of them: those outside are masked.
/// `end`: what lies there or behind it doesn't exist either; null: none.
ViewDimension slice_ds(LoweredView& view, ViewDimension from, Value* start, std::int64_t size,
                       Value* end, Bounds& bounds, Inserter& insert) {
  if (end != nullptr) {
    from.extent = {kDynamic, minimum(end, from.extent.materialise(insert), insert)};
  }
  view.terms.push_back({start, from.stride, from.source});
  ViewDimension result{{size, nullptr}, from.stride, {}, false, from.source};
  if (end == nullptr && !from.mask && !from.extent.is_constant()) result.range = from.range;
  const bool is_within_parent = is_inside(start, size, from.extent, bounds);
  if (!from.mask) {
    if (!is_within_parent) result.mask = AccessMask{start, from.extent.materialise(insert)};
    return result;
  }
  const auto [begin, bound] = *from.mask;
  if (is_within_parent) {
    Value* position = insert.op("add", {begin, start});
    if (!is_inside(position, size, {kDynamic, bound}, bounds)) {
      result.mask = AccessMask{position, bound};
    }
    return result;
  }
  // Inside where 0 <= start + j < extent and 0 <= begin + start + j < bound.
  Value* extent = from.extent.materialise(insert);
  Value* before = minimum(begin, insert.constant(0), insert);
  Value* last = minimum(insert.op("sub", {bound, begin}), extent, insert);
  result.mask = AccessMask{insert.op("add", {start, before}), insert.op("add", {last, before})};
  return result;
}

/// 0 <= lower <= upper <= extent, by clamping; not computed where proven.
ViewDimension slice_range(LoweredView& view, const ViewDimension& from, Value* lower, Value* upper,
                          Bounds& bounds, Inserter& insert) {
  Value* extent = from.extent.materialise(insert);
  ViewDimension::Range range{lower, upper, nullptr};
  const bool is_clamped_below = !bounds.is_at_least(lower, 0);
  if (is_clamped_below) lower = insert.op_or_equal("maximum", {lower, insert.constant(0)});
  if (!bounds.at_least(extent, lower)) lower = insert.op_or_equal("minimum", {lower, extent});
  if (!bounds.at_least(extent, upper)) upper = insert.op_or_equal("minimum", {upper, extent});
  if (!bounds.at_least(upper, lower)) upper = insert.op_or_equal("maximum", {upper, lower});
  view.terms.push_back({lower, from.stride, from.source});
  ViewDimension result{
      {kDynamic, insert.op_or_equal("sub", {upper, lower})}, from.stride, {}, false, from.source};
  range.clamped_lower = lower;
  if (from.is_whole && !is_clamped_below) result.range = range;
  if (from.mask) {
    result.mask = AccessMask{insert.op("add", {from.mask->begin, lower}), from.mask->bound};
  }
  return result;
}

/// Where the elements of dimensions that index tiles made lie is in those tiles alone.
void refuse_gathered(const SliceIndex& index, const Inserter& insert) {
  if (index.kind == SliceIndex::Kind::kAll) return;
  throw UserError(
      "a dimension that an index tile made can only be taken whole, with `:`: slice before "
      "indexing with tiles, or make the index tile smaller",
      insert.location());
}

std::int64_t divisor_of(const Amount& amount, Bounds& bounds) {
  return amount.is_constant() ? amount.constant : bounds.divisor(amount.value);
}

}  // namespace

Value* Amount::materialise(Inserter& insert) const {
  return is_constant() ? insert.constant(constant) : value;
}

LoweredView whole_view(Value* parameter, const std::vector<Amount>& extents, bool is_contiguous,
                       Inserter& insert) {
  LoweredView view;
  view.base = parameter;
  view.dtype = parameter->type.dtype;
  view.dimensions.resize(extents.size());
  Amount contiguous{1, nullptr};
  for (std::size_t i = extents.size(); i-- > 0;) {
    ViewDimension& dimension = view.dimensions[i];
    dimension.extent = extents[i];
    dimension.source = static_cast<int>(i);
    dimension.is_whole = true;
    if (is_contiguous) {
      dimension.stride = contiguous;
      if (i > 0) contiguous = product(contiguous, extents[i], insert);
    } else {
      dimension.stride = {kDynamic, insert.op("stride", {parameter},
                                              {{"dimension", static_cast<std::int64_t>(i)}})};
    }
  }
  return view;
}

LoweredView slice_view(const LoweredView& view, const std::vector<SliceIndex>& indices,
                       Bounds& bounds, Inserter& insert) {
  LoweredView result = view;
  result.dimensions.clear();
  std::vector<const ViewDimension*> gathered;
  std::vector<Value*> tiles;
  std::size_t gather_position = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const SliceIndex& index = indices[i];
    const ViewDimension& from = view.dimensions.at(i);
    if (from.is_gathered) refuse_gathered(index, insert);
    if (view.gather && i == view.gather->dimension) {
      result.gather->dimension = result.dimensions.size();
    }
    switch (index.kind) {
      case SliceIndex::Kind::kAt:
        slice_at(result, from, index.first, bounds, insert);
        break;
      case SliceIndex::Kind::kAll:
        result.dimensions.push_back(from);
        break;
      case SliceIndex::Kind::kDs:
      case SliceIndex::Kind::kDsBelow:
        result.dimensions.push_back(
            slice_ds(result, from, index.first, index.size, index.second, bounds, insert));
        break;
      case SliceIndex::Kind::kRange:
        result.dimensions.push_back(
            slice_range(result, from, index.first, index.second, bounds, insert));
        break;
      case SliceIndex::Kind::kTile:
        if (tiles.empty()) gather_position = result.dimensions.size();
        gathered.push_back(&from);
        tiles.push_back(index.first);
        break;
    }
  }
  if (!tiles.empty()) gather(result, gather_position, gathered, tiles, insert);
  return result;
}

Value* address_of(const LoweredView& view, Inserter& insert) {
  Value* offset = nullptr;
  for (const LoweredView::Term& term : view.terms) {
    Value* step = product({kDynamic, term.index}, term.stride, insert).materialise(insert);
    offset = offset == nullptr ? step : insert.op("add", {offset, step});
  }
  if (offset == nullptr) offset = insert.constant(0);
  const bool is_field = view.dtype != view.base->type.dtype;
  Value* from_base = is_field ? insert.constant(view.byte_offset) : offset;
  if (!is_field && view.byte_offset != 0) {  // a field of bytes
    from_base = insert.op("add", {offset, insert.constant(view.byte_offset)});
  }
  if (view.start != nullptr) from_base = insert.op("add", {view.start, from_base});
  Attributes attributes;
  if (view.is_multicast) attributes["multicast"] = true;
  Value* address = view.rank == nullptr
                       ? insert.op("address", {view.base, from_base}, std::move(attributes))
                       : insert.op("address", {view.base, view.rank, from_base}, {{"peer", true}});
  return is_field ? insert.op("pointer_cast", {address, offset}, {{"dtype", view.dtype}}) : address;
}

int vector_of(const LoweredView& view, DType dtype, int alignment, Bounds& bounds,
              bool is_mappable) {
  if (view.dimensions.empty()) return 1;
  const ViewDimension& last = view.dimensions.back();
  if (last.is_gathered || !last.stride.is_constant() || last.stride.constant != 1) return 1;
  const auto divides = [&](std::int64_t vector) {
    const auto divides_stride = [&](const Amount& stride, int source) {
      const bool is_of_rows =
          source != ViewDimension::kNoDimension && source != view.base->type.rank() - 1;
      const bool is_known = is_mappable && is_of_rows;
      return is_known || divisor_of(stride, bounds) % vector == 0;
    };
    if (alignment % (vector * num_bytes(dtype)) != 0) return false;
    if (view.byte_offset % (vector * num_bytes(dtype)) != 0) return false;
    if (divisor_of(last.extent, bounds) % vector != 0) return false;
    for (const LoweredView::Term& term : view.terms) {
      if (!divides_stride(term.stride, term.source) && !bounds.is_multiple(term.index, vector)) {
        return false;
      }
    }
    if (view.gather) {
      for (const Amount& stride : view.gather->strides) {
        if (divisor_of(stride, bounds) % vector != 0) return false;
      }
    }
    for (std::size_t i = 0; i + 1 < view.dimensions.size(); ++i) {
      const ViewDimension& dimension = view.dimensions[i];
      if (!divides_stride(dimension.stride, dimension.source)) return false;
    }
    return true;
  };
  int vector = kMaxVectorBytes / num_bytes(dtype);
  while (vector > 1 && !divides(vector)) vector /= 2;
  return vector;
}

}  // namespace tilewire

#include "compiler/passes/view_place.h"

#include <algorithm>

#include "compiler/jit/tensor_map.h"

namespace tilewire {
namespace {

bool are_equal(const Linear& a, const Linear& b) {
  const std::optional<Linear> difference = add_scaled(a, b, -1);
  return difference && difference->is_constant() && difference->constant == 0;
}

/// The sum of what was added along one dimension of the parameter.
std::optional<Linear> start_along(const LoweredView& view, int source, Bounds& bounds) {
  std::optional<Linear> start = Linear::of(0);
  for (const LoweredView::Term& term : view.terms) {
    if (term.source != source || !start) continue;
    start = add_scaled(*start, bounds.linear(term.index), 1);
  }
  return start;
}

/// Whether a dimension's mask, if it has one, is the edge of the parameter.
bool ends_with_map(const ViewDimension& dimension, const LoweredView& view,
                   const LoweredView& whole, Bounds& bounds) {
  if (!dimension.mask) return true;
  const std::optional<Linear> start = start_along(view, dimension.source, bounds);
  const Amount& extent = whole.dimensions.at(static_cast<std::size_t>(dimension.source)).extent;
  const Linear edge =
      extent.is_constant() ? Linear::of(extent.constant) : bounds.linear(extent.value);
  return start && are_equal(bounds.linear(dimension.mask->begin), *start) &&
         are_equal(bounds.linear(dimension.mask->bound), edge);
}

/// Whether a block of a range that begins inside of it also ends there, or at the parameter's edge:
/// where it does begin there, and the range is one of whole blocks as it was given.
bool ends_with_block(const ViewDimension& dimension, Bounds& bounds) {
  if (!dimension.range) return false;
  if (!dimension.mask) return true;  // all of it is known to be inside
  const auto& [start, extent] = *dimension.mask;
  const std::int64_t size = dimension.extent.constant;
  const std::optional<Linear> length =
      add_scaled(bounds.linear(dimension.range->upper), bounds.linear(dimension.range->lower), -1);
  return length && bounds.is_multiple(*length, size) && bounds.is_multiple(start, size) &&
         bounds.is_at_least(start, 0) && bounds.at_least(extent, start, 1);
}

/// Null where the address has what is added as it is.
const ViewDimension::Range* range_of(const LoweredView& view, int source, Bounds& bounds) {
  for (const ViewDimension& dimension : view.dimensions) {
    if (dimension.source == source && ends_with_block(dimension, bounds)) return &*dimension.range;
  }
  return nullptr;
}

bool is_described(const LoweredView& view, const LoweredView& whole) {
  const bool is_plain = view.dtype == whole.dtype && view.byte_offset == 0 && !view.gather &&
                        view.start == nullptr && whole.dimensions.size() <= kMaxMapRank;
  return is_plain &&
         std::ranges::none_of(view.terms,
                              [](const LoweredView::Term& term) {
                                return term.source == ViewDimension::kNoDimension;
                              }) &&
         std::ranges::all_of(view.dimensions, [&](const ViewDimension& dimension) {
           return dimension.source != ViewDimension::kNoDimension && dimension.extent.is_constant();
         });
}

}  // namespace

std::optional<MapPlace> place_in_map(const LoweredView& view, const LoweredView& whole,
                                     Bounds& bounds, Inserter& insert) {
  if (!is_described(view, whole)) return std::nullopt;
  MapPlace place;
  for (std::size_t i = 0; i < whole.dimensions.size(); ++i) {
    Value* start = nullptr;
    const ViewDimension::Range* range = range_of(view, static_cast<int>(i), bounds);
    for (const LoweredView::Term& term : view.terms) {
      if (term.source != static_cast<int>(i)) continue;
      const bool is_clamped = range != nullptr && term.index == range->clamped_lower;
      Value* index = is_clamped ? range->lower : term.index;
      start = start == nullptr ? index : insert.op("add", {start, index});
    }
    place.coordinates.push_back(start == nullptr ? insert.constant(0) : start);
  }
  for (const ViewDimension& dimension : view.dimensions) {
    place.dimensions.push_back(dimension.source);
    place.is_clipped.push_back(!ends_with_map(dimension, view, whole, bounds) &&
                               !ends_with_block(dimension, bounds));
  }
  if (view.has_inner_guard) place.guards = view.guards;
  return place;
}

}  // namespace tilewire

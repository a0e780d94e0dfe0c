#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/ops/put.h"
#include "compiler/passes/view_access.h"
#include "compiler/passes/view_network.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// The least or the largest of some index values.
Value* extreme(std::string_view op, const std::vector<Value*>& values, Inserter& insert) {
  Value* result = values.at(0);
  for (std::size_t i = 1; i < values.size(); ++i) result = insert.op(op, {result, values[i]});
  return result;
}

/// Moves both views' dimension `i` to the first index that both have, and gives how many they have
/// from there; 0 or less: none.
Value* shared_extent(LoweredView& to, LoweredView& from, std::size_t i, Bounds& bounds,
                     Inserter& insert) {
  ViewDimension& a = to.dimensions[i];
  ViewDimension& b = from.dimensions[i];
  std::vector<Value*> ends = {a.extent.materialise(insert)};
  const bool are_equal = a.extent.is_constant() && b.extent.is_constant()
                             ? true  // checked when the op was made
                             : a.extent.value == b.extent.value;
  if (!are_equal) ends.push_back(b.extent.materialise(insert));
  std::vector<Value*> starts = {insert.constant(0)};
  for (const ViewDimension* dimension : {&a, &b}) {
    if (!dimension->mask) continue;
    const auto [begin, bound] = *dimension->mask;
    ends.push_back(insert.op("sub", {bound, begin}));
    if (!bounds.is_at_least(begin, 0)) starts.push_back(insert.op("sub", {starts[0], begin}));
  }
  Value* end = extreme("minimum", ends, insert);
  if (starts.size() == 1) return end;
  Value* start = extreme("maximum", starts, insert);
  to.terms.push_back({start, a.stride});
  from.terms.push_back({start, b.stride});
  return insert.op("sub", {end, start});
}

/// Whether all of it is known to be too little for bulk copies.
bool is_small(const LoweredView& to, const LoweredView& from) {
  std::int64_t bytes = num_bytes(to.dtype);
  for (std::size_t i = 0; i < to.dimensions.size(); ++i) {
    const Amount& a = to.dimensions[i].extent;
    const Amount& extent = a.is_constant() ? a : from.dimensions[i].extent;
    if (!extent.is_constant()) return false;
    if (__builtin_mul_overflow(bytes, extent.constant, &bytes)) return false;
  }
  return bytes < kLeastBulkBytes;
}

/// Bytes that divide both addresses, their strides and the last dimension.
int known_bytes(const LoweredView& to, const LoweredView& from, std::pair<int, int> alignments,
                Bounds& bounds) {
  const int element = num_bytes(to.dtype);
  if (to.dimensions.back().mask || from.dimensions.back().mask) return element;
  return element * std::min(vector_of(to, to.dtype, alignments.first, bounds),
                            vector_of(from, from.dtype, alignments.second, bounds));
}

}  // namespace

void copy_view(LoweredView to, LoweredView from, std::pair<int, int> alignments, Bounds& bounds,
               Inserter& insert) {
  if (to.gather || from.gather) {
    throw UserError("a view that is copied takes no index tiles: load the tile, and put that",
                    insert.location());
  }
  std::vector<Value*> extents;
  for (std::size_t i = 0; i < to.dimensions.size(); ++i) {
    extents.push_back(shared_extent(to, from, i, bounds, insert));
  }
  for (const LoweredView* view : {&to, &from}) {
    for (Value* guard : view->guards) {
      extents[0] = insert.op("select", {guard, extents[0], insert.constant(0)});
    }
  }
  std::vector<Value*> dimensions;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    dimensions.push_back(extents[i]);
    dimensions.push_back(to.dimensions[i].stride.materialise(insert));
    dimensions.push_back(from.dimensions[i].stride.materialise(insert));
  }
  const int known = known_bytes(to, from, alignments, bounds);
  if (to.is_over_network || from.is_over_network) {
    return copy_over_network(to, from, dimensions, known, insert);
  }
  std::vector<Value*> operands = {address_of(to, insert), address_of(from, insert)};
  operands.insert(operands.end(), dimensions.begin(), dimensions.end());
  Attributes attributes = {{"known", static_cast<std::int64_t>(known)}};
  if (!is_small(to, from)) attributes["bulk"] = true;
  insert.append(insert.program().new_op("view_copy", std::move(operands), std::move(attributes),
                                        insert.location()));
}

}  // namespace tilewire

#include "compiler/ops/layouts.h"

#include <algorithm>

namespace tilewire {
namespace {

/// Whether all dimensions but the last `count` have extent 1.
bool are_leading_ones(const std::vector<std::int64_t>& shape, std::size_t count) {
  return std::all_of(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(count),
                     [](std::int64_t extent) { return extent == 1; });
}

}  // namespace

Slice slice_left_by_reduction(const Type& tile, std::int64_t axis) {
  if (tile.rank() < 2) return Slice::kNone;
  if (axis == tile.rank() - 1) return Slice::kPerRow;
  return axis == tile.rank() - 2 && are_leading_ones(tile.shape, 2) ? Slice::kPerColumn
                                                                    : Slice::kNone;
}

Slice slice_repeated_by_broadcast(const Type& source, const Type& result) {
  if (result.rank() < 2 || source.rank() != result.rank()) return Slice::kNone;
  const bool repeats_last = source.shape.back() == 1 && result.shape.back() != 1;
  if (!repeats_last) {
    return are_leading_ones(source.shape, 1) && source.shape.back() == result.shape.back()
               ? Slice::kPerColumn
               : Slice::kNone;
  }
  return std::equal(source.shape.begin(), source.shape.end() - 1, result.shape.begin())
             ? Slice::kPerRow
             : Slice::kNone;
}

Layout layout_of_slice(Slice slice, const Type& larger) {
  const Layout& layout = larger.layout;
  if (layout.kind != Layout::Kind::kRows) return {};
  switch (slice) {
    case Slice::kNone:
      return {};
    case Slice::kPerRow:
      return {Layout::Kind::kPerRow, 1, layout.lanes};
    case Slice::kPerColumn:
      return {Layout::Kind::kPerColumn, layout.vector, layout.lanes};
  }
  return {};
}

bool are_spread_alike(const Type& a, const Type& b) {
  return a.layout == b.layout &&
         (a.layout.kind != Layout::Kind::kRows || a.shape.back() == b.shape.back());
}

}  // namespace tilewire

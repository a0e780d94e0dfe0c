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
  const bool is_fragment = layout.kind == Layout::Kind::kFragment && larger.shape.back() != 1;
  if (layout.kind != Layout::Kind::kRows && !is_fragment) return {};
  switch (slice) {
    case Slice::kNone:
      return {};
    case Slice::kPerRow:
      if (is_fragment) return Layout::fragment(Layout::Kind::kFragmentPerRow);
      return {Layout::Kind::kPerRow, 1, layout.lanes};
    case Slice::kPerColumn:
      if (is_fragment) return Layout::fragment(Layout::Kind::kFragmentPerColumn);
      return {Layout::Kind::kPerColumn, layout.vector, layout.lanes};
  }
  return {};
}

std::int64_t fragment_columns(const Type& tile) {
  const auto last = std::ranges::find_if(tile.shape.rbegin(), tile.shape.rend(),
                                         [](std::int64_t extent) { return extent != 1; });
  return *last;
}

bool renames_fragments(const Statement& statement) {
  const bool is_part = statement.is("part");
  if (!is_part && !statement.is("cat")) return false;
  const std::vector<std::int64_t>& shape = statement.result()->type.shape;
  if (shape.size() != 2) return false;
  constexpr std::int64_t kStep = 8;  // columns whose registers lie together
  if (is_part) {
    const std::vector<std::int64_t>& start = statement.integers("start");
    return shape[0] == statement.operands.at(0)->type.shape[0] && start[1] % kStep == 0 &&
           shape[1] % kStep == 0;
  }
  return statement.integer("axis") == 1 &&
         std::ranges::all_of(statement.operands, [](const Value* operand) {
           return operand->type.shape[1] % kStep == 0;
         });
}

bool are_spread_alike(const Type& a, const Type& b) {
  if (a.layout != b.layout) return false;
  switch (a.layout.kind) {
    case Layout::Kind::kRows:
      return a.shape.back() == b.shape.back();
    case Layout::Kind::kFragment:
      return fragment_columns(a) == fragment_columns(b);
    case Layout::Kind::kBlocked:
    case Layout::Kind::kPerRow:
    case Layout::Kind::kPerColumn:
    case Layout::Kind::kFragmentPerRow:
    case Layout::Kind::kFragmentPerColumn:
    case Layout::Kind::kStaged:
      return true;
  }
  return false;
}

}  // namespace tilewire

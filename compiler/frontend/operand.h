#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

using Values = std::vector<Value*>;

/// A value, or a literal that takes the dtype of what it meets.
using Operand = std::variant<Value*, std::int64_t, double, bool>;

/// One index inside `view[…]`.
struct Index {
  enum class Kind { kAt, kAll, kDs, kRange, kTile };
  Kind kind = Kind::kAll;
  Operand first = std::int64_t{0};
  Operand second = std::int64_t{0};
  std::int64_t size = 0;
  std::optional<Operand> end;  ///< of ds: elements from there on don't exist

  static Index at(Operand index);
  static Index all();
  /// `tw.ds(start, size)`: a dynamic start, a static size; elements outside the view are masked.
  /// With `end`, so are those at `end` and behind it.
  static Index ds(Operand start, std::int64_t size, std::optional<Operand> end = {});
  /// `[lower:upper]` with run-time bounds: a view, clipped to its parent.
  static Index range(Operand lower, Operand upper);
  /// An integer tile: gather, scatter. Index tiles of one slice broadcast together, stand side by
  /// side, and their dimensions take the place of the first. An index outside of its dimension
  /// (below 0 too) has no element.
  static Index tile(Value* indices);
};

}  // namespace tilewire

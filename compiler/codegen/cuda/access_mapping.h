#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

/// An access, as far as it says which thread touches which element. Equal: the same thread.
struct AccessMapping {
  const Value* base = nullptr;       ///< the parameter; null: unknown
  const Statement* alone = nullptr;  ///< set where no other access maps alike
  const Value* offset = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<const Value*> dynamic_strides;
  Layout::Kind kind = Layout::Kind::kBlocked;
  int vector = 0;
  int lanes = 0;
  bool is_by_rows = false;  ///< by other threads of the warp that holds the element
  auto operator<=>(const AccessMapping&) const = default;

  /// Whether the same thread touches the same element, if both are of the same memory.
  bool is_like(AccessMapping other) const {
    other.base = base;
    return alone == nullptr && other == *this;
  }
  /// Whether a warp's threads have met between such a read and this access, if both are of the same
  /// memory, and touch the same elements.
  bool is_behind(AccessMapping read) const {
    read.base = base;
    read.is_by_rows = is_by_rows;
    return is_by_rows && alone == nullptr && read == *this;
  }
};

/// An access of a parameter (null: of any) by no thread in particular.
AccessMapping anywhere(const Statement& statement, const Value* parameter);

/// Of a statement that loads or stores a tile.
AccessMapping mapping_of(const Statement& statement);

}  // namespace tilewire

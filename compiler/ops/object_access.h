#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ops/op.h"

namespace tilewire {

/// The operands of a lowered op on synchronisation objects (`OpInfo::lowered`), by name.
///
/// In order: the place, which is a pointer to the first element of semaphores and flags; of
/// channels the parameter, the slot's number and, if `peer`, the rank; then what the op takes
/// besides; then a bool scalar if `predicated` (false: nothing happens). `shape` and `strides`, in
/// elements, say which elements of the array: empty for one.
struct ObjectAccess {
  Value* pointer = nullptr;  ///< semaphores and flags; its dtype is `object_dtype`
  Value* channel = nullptr;  ///< channels: the parameter
  Value* slot = nullptr;     ///< channels: number of the first slot, an index
  Value* rank = nullptr;     ///< channels: whose; null: this rank's
  bool is_at_peer = false;   ///< `.at(r)` was written, in a world of several ranks
  std::vector<Value*> values;
  Value* predicate = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;

  static ObjectAccess of(const Statement& statement);
  std::int64_t num_elements() const;
};

/// The attributes that `ObjectAccess` reads.
std::vector<AttributeSpec> object_access_attributes();

/// Checks what `ObjectAccess` describes: the place, `num_values` operands of any kind, a predicate.
void check_object_access(const OpCall& call, std::size_t num_values);

}  // namespace tilewire

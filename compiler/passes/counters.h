#pragma once

#include <cstdint>
#include <unordered_map>

#include "compiler/ir/program.h"

namespace tilewire {

/// A carried value of a while loop that each iteration changes by a constant.
struct Counter {
  const Value* initial = nullptr;
  std::int64_t step = 0;
  /// What the loop's condition compares it with: below it where the step is positive, above it
  /// where it is negative. Null where that isn't known: in the condition itself, or of no limit.
  const Value* limit = nullptr;
};

/// Region arguments of while loops that are counters.
std::unordered_map<const Value*, Counter> find_counters(const Program& program);

}  // namespace tilewire

#pragma once

#include <functional>
#include <set>

#include "compiler/ir/program.h"

namespace tilewire {

/// Leaves of a region what the statements that `is_root` names depend on, and those themselves:
/// what computes their operands, and the loops and branches that say how often they run. Values
/// that loops and branches carry for others are dropped. Roots have no results that others use.
void keep_slice(Region& region, const std::function<bool(const Statement&)>& is_root);

/// The statements of a region that `keep_slice` would leave.
std::set<const Statement*> slice_of(const Region& region,
                                    const std::function<bool(const Statement&)>& is_root);

}  // namespace tilewire

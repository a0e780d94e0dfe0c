#pragma once

#include <cstdint>

#include "compiler/jit/target.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {

/// Appends what a `barrier` becomes: the first transport that can carry it on the target, or two.
/// Gives how many places that wait it has, which are numbered from `site` on. UserError where none
/// can.
std::int64_t legalise_barrier(const Statement& barrier, const Target& target, std::int64_t site,
                              Inserter& insert);

}  // namespace tilewire

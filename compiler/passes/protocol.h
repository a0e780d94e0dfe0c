#pragma once

#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

/// What all ranks of a two-sided launch must have in common, of a lowered program whose artifact
/// has `arguments` and `wait_sites`. Depends on nothing that may differ by rank.
Protocol protocol_of(const Program& lowered, const std::vector<ArgumentSlot>& arguments,
                     const std::vector<WaitSite>& wait_sites);

}  // namespace tilewire

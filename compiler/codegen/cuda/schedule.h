#pragma once

#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

/// The order in which a region's statements are emitted: program order, but within a stretch
/// without stores, waits and control flow, loads come first, so that all of them are in flight
/// together. The compiler of the generated text can't do that itself where the threads of a CTA
/// meet in between, as they do in a reduction.
std::vector<const Statement*> schedule(const Region& region, int num_threads);

}  // namespace tilewire

#pragma once

#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

/// What `set` and `wait` of flags call: `tilewire_set_flag(instance, flag, generation)` and the
/// reference function `tilewire_wait_flags`, on a fiber of a `Scheduler`.
std::vector<CpuSymbol> flag_references();

}  // namespace tilewire

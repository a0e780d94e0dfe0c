#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

// The reference functions of `generation`, `announce`, `await_done` and `leave`
// (templates/tilewire/launch_state.cuh says what they do): the same words, in host memory.
std::vector<CpuSymbol> launch_state_references();

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

// The reference functions of `generation`, `announce`, `await_done` and `leave`
// (templates/tilewire/launch_state.cuh says what they do): the same words, in host memory.
std::vector<CpuSymbol> launch_state_references();

/// As if `launches` had ended on every rank: for tests of what happens to large numbers.
/// `addresses`: each rank's memory of a flag array or rotating window, untouched so far.
void start_from_launch(const std::uint64_t* addresses, int world_size, std::int64_t launches);

}  // namespace tilewire

#pragma once

#include <span>

#include "runtime/cpu/scheduler.h"

namespace tilewire {

/// Runs the instances of kernels that never wait, of all ranks, on all cores, in no set order.
/// Throws what one of the failing instances threw, or the interrupt check.
void run_in_parallel(std::span<const RankLaunch> ranks);

}  // namespace tilewire

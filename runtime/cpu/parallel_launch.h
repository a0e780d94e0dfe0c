#pragma once

#include <atomic>
#include <span>

#include "runtime/cpu/scheduler.h"

namespace tilewire {

/// Runs the instances of kernels that never wait, of all ranks, on all cores, in no set order.
/// Throws what one of the failing instances threw, or `LaunchControl::poll`.
void run_in_parallel(std::span<const RankLaunch> ranks,
                     const std::atomic<bool>* is_ended = nullptr);

}  // namespace tilewire

#pragma once

#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

/// What `signal` and `wait` of semaphores call: `tilewire_signal_semaphore(instance, cell, n)`,
/// from any thread, and the reference function `tilewire_wait_semaphores`, on a fiber of a
/// `Scheduler`.
std::vector<CpuSymbol> semaphore_references();

}  // namespace tilewire

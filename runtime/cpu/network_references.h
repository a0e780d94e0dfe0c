#pragma once

#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

/// What the ops over the network call (compiler/ops/network.cpp): `tilewire_network_put`, `_get`,
/// `_store`, `_signal`, `_flush`, `_barrier` and `_grid_barrier`, on fibers of a `Scheduler`.
std::vector<CpuSymbol> network_references();

}  // namespace tilewire

#pragma once

#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

/// `tilewire_channel_send`, `tilewire_channel_recv` and `tilewire_channel_exchange`: the buffers,
/// sequence numbers, credits and clears of a GPU's channels (`templates/tilewire/exchange.cuh`,
/// `fifo.cuh`), in host memory.
std::vector<CpuSymbol> channel_references();

}  // namespace tilewire

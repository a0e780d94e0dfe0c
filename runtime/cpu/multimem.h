#pragma once

#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

/// What a switch between GPUs does for `multimem` instructions.
std::vector<CpuSymbol> multimem_references();

}  // namespace tilewire

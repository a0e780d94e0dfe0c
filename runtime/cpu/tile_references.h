#pragma once

#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

/// Reference functions (`CpuReference`) of ops on tiles: `tilewire_sort`, `tilewire_argsort`,
/// `tilewire_histogram`.
std::vector<CpuSymbol> tile_references();

}  // namespace tilewire

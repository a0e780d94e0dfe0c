#pragma once

#include <vector>

#include "runtime/cpu/symbols.h"

namespace tilewire {

/// Reference functions of `print` and `assert`: `tilewire_print` writes lines to stdout,
/// `tilewire_assert` throws DeviceAssertionError.
std::vector<CpuSymbol> report_references();

}  // namespace tilewire

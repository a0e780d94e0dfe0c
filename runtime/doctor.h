#pragma once

#include <vector>

#include "compiler/jit/components.h"

namespace tilewire {

/// The GPUs that this process sees, and what memory operations of each reach the others with.
/// Empty where there is no driver. Throws nothing.
std::vector<ComponentReport> report_gpus();

}  // namespace tilewire

#pragma once

#include <string>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

/// CUDA text of a lowered program (views lowered, layouts inferred). `description` is what
/// `describe` says of it: arguments, wait sites, launch rules. One kernel, `description.entry`,
/// over the headers in `templates/`; equal programs give equal bytes. InternalError where the
/// program isn't lowered.
std::string emit_cuda_source(const Program& lowered, const Artifact& description);

}  // namespace tilewire

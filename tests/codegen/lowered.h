#pragma once

#include <string>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

/// Reads `tests/codegen/programs/NAME.ir`: a program in the form that code generators take.
Program read_lowered(const std::string& name);

/// CUDA text of that program for its own world on sm_90a.
std::string cuda_of(const std::string& name);

}  // namespace tilewire

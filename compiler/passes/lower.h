#pragma once

#include <functional>
#include <string_view>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// Called with the program after each pass (`TILEWIRE_DUMP=passes`).
using PassObserver = std::function<void(std::string_view pass, const Program&)>;

/// The ordered list of all passes, from what a frontend made to what the code generators take.
/// Each pass's output is verified.
Program lower(Program program, const Target& target, const PassObserver& observe = {});

/// Everything of the artifact but source and binary, read off the lowered program.
Artifact describe(const Program& lowered, const Target& target);

}  // namespace tilewire

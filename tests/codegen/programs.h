#pragma once

#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// A program with the name of its golden and the target that it is emitted for.
struct GoldenProgram {
  std::string name;
  std::string target;
  Program (*make)(const Target& target);
  bool is_lowered = false;  ///< as it is made

  /// The CUDA text.
  std::string cuda() const;
};

/// What `tests/codegen/golden` holds a text for each.
const std::vector<GoldenProgram>& golden_programs();
const GoldenProgram& golden_program(const std::string& name);

}  // namespace tilewire

#pragma once

#include <string_view>
#include <vector>

namespace tilewire {

/// A function that generated code calls by name.
struct CpuSymbol {
  std::string_view name;
  void* address;
};

/// All of them: collective steps, reference functions of ops, and the mathematics that LLVM makes
/// calls of.
const std::vector<CpuSymbol>& cpu_symbols();

}  // namespace tilewire

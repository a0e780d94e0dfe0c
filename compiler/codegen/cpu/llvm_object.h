#pragma once

#include <string>

namespace tilewire {

/// LLVM IR text → optimised object bytes for this machine's processor, with LLVM's O3 pipeline.
/// BackendError with LLVM's message where the text can't be read or compiled. Thread-safe.
std::string compile_llvm_text(const std::string& text);

/// LLVM's version, this machine's processor and its features: all that the object depends on
/// beside the text.
std::string llvm_version_and_processor();

}  // namespace tilewire

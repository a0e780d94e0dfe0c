#pragma once

namespace tilewire {

/// Registers LLVM as the CPU target's code generator (`register_cpu_codegen` in
/// `compiler/jit/compile.h`), so that `compile` accepts CPU targets. Call it once, early in the
/// process; calling it again does nothing. Thread-safe.
void enable_cpu_target();

}  // namespace tilewire

#pragma once

namespace tilewire {

/// Registers the LLVM code generator as the CPU backend (`compiler/codegen/cpu/register.h`). Call
/// it once, early in the program; calling it again does nothing.
void enable_cpu_target();

}  // namespace tilewire

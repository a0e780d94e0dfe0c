#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

/// The user's text becomes a struct with a function in front of the kernel, under its own line
/// numbers, which is applied to each element.
void emit_inline_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

/// `OpInfo::emit_cuda` of `view_copy` and `drain_copies`. The kernel has a `copier`.
void emit_view_copy_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_drain_copies_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

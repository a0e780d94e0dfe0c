#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

void emit_tile_load_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_tile_store_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

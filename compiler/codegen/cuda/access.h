#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

void emit_tile_load_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_tile_store_cuda(const Statement& statement, CudaEmitter& emitter);
/// What the offsets of a gather pass through, where threads need other ones than they hold.
int access_shared_bytes(const Statement& statement, int num_threads);

}  // namespace tilewire

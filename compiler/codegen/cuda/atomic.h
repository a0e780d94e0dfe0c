#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

void emit_tile_atomic_cuda(const Statement& statement, CudaEmitter& emitter);
/// What an old value that one thread fetches comes to the others through; offsets of a scatter.
int atomic_shared_bytes(const Statement& statement, int num_threads);

}  // namespace tilewire

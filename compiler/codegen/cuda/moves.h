#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

// `transpose`, `part`, `flip`, `cat` and `gather`: elements that other threads hold come through
// shared memory.

/// `OpInfo::cuda_shared_bytes` of all of them.
int moved_bytes(const Statement& statement, int num_threads);
void emit_walk_cuda(const Statement& statement, CudaEmitter& emitter);  ///< transpose, flip
void emit_part_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_cat_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_gather_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

// `reshape`, `broadcast`, `relayout` and `extract`: elements that other threads hold come through
// shared memory. The functions for shared bytes are `OpInfo::cuda_shared_bytes`.

int moved_shared_bytes(const Statement& statement, int num_threads);
void emit_moved_cuda(const Statement& statement, CudaEmitter& emitter);
int extract_shared_bytes(const Statement& statement, int num_threads);
void emit_extract_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

void emit_multimem_load_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_multimem_store_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_multimem_reduce_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_fence_aliases_cuda(const Statement& statement, CudaEmitter& emitter);
/// What the offsets of a gather pass through.
int multimem_shared_bytes(const Statement& statement, int num_threads);

/// Whether a write through a multicast address may have to go to some copies one by one: no
/// `multimem` instruction accesses less than 4 bytes.
bool writes_single_copies(const Statement& statement);
/// Whether all of it does.
bool writes_only_single_copies(const Statement& statement);

}  // namespace tilewire

#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

// `OpInfo::emit_cuda` of the ops over the network (compiler/ops/network.h).

void emit_network_put_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_network_get_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_network_store_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_network_signal_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_network_flush_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_network_barrier_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_network_grid_barrier_cuda(const Statement& statement, CudaEmitter& emitter);

/// `OpInfo::cuda_shared_bytes` of `network_store`.
int network_store_shared_bytes(const Statement& statement, int num_threads);

}  // namespace tilewire

#pragma once

#include "compiler/ir/program.h"

namespace tilewire {

class CudaEmitter;

// `emit_cuda` of the ops in compiler/ops/mover.cpp.
void emit_put_tile_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_take_tile_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_await_moves_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_is_mover_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_receive_tile_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_drain_tile_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_fetch_tile_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_finish_moves_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_settle_moves_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

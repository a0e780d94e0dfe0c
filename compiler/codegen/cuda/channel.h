#pragma once

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

// `OpInfo::emit_cuda` of the ops on channels. Where `keep_channel_counts` has opened a slot at the
// kernel's start, they use that object; else each makes one of its own, between two meetings of the
// CTA, since others may have stored the slot's count.

void emit_channel_open_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_channel_close_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_channel_send_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_channel_recv_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_channel_exchange_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

#pragma once

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

class CudaEmitter;

/// The dynamic shared memory of a kernel whose threads all fill a ring of slots: the ring, then the
/// place where products become rows to be stored.
struct CommonRingPlan {
  int num_stages = 0;  ///< 0: the program has no such ring
  int slot_bytes = 0;
  int rows_bytes = 0;
  int num_ctas = 1;  ///< that an SM holds at once
  int ring_bytes() const { return num_stages * slot_bytes; }
  int num_bytes() const { return ring_bytes() + rows_bytes; }
};
CommonRingPlan plan_common_ring(const Program& lowered, const Target& target);

/// Bytes of shared memory that a CTA may have.
int max_shared_bytes(int compute_capability);

// `emit_cuda` of the ops in compiler/ops/common_ring.cpp.
void emit_begin_slots_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_copy_operand_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_fill_slot_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_await_slot_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_product_ahead_cuda(const Statement& matmul, CudaEmitter& emitter);

}  // namespace tilewire

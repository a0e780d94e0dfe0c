#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

class CudaEmitter;

/// What the dynamic shared memory of a kernel with roles holds: the ring that the producer fills,
/// then the place that stores of products go through.
struct StagingPlan {
  int num_stages = 0;  ///< slots of the ring; 0: the program has no roles
  int slot_bytes = 0;
  int store_bytes = 0;  ///< 0: no `staged_store`
  int ring_bytes() const { return num_stages * slot_bytes; }
  int num_bytes() const { return ring_bytes() + store_bytes; }
};
/// UserError where not even two slots fit.
StagingPlan plan_staging(const Program& lowered);

/// The tensor maps of a program's loads of operands and staged stores, without repetition.
std::vector<TensorMapSpec> tensor_maps_of(const Program& lowered);

// `emit_cuda` of the ops in compiler/ops/staging.cpp.
void emit_operand_load_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_staged_store_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_staged_product_cuda(const Statement& matmul, CudaEmitter& emitter);
void emit_skip_product_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_finish_product_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_is_producer_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_hand_over_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_await_hand_over_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_nothing_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

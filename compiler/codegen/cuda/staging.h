#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire {

class CudaEmitter;

/// What the dynamic shared memory of a kernel with roles holds: the ring that the producer fills,
/// then the place where products become rows to be stored, that of a tile which the mover carries,
/// and that of copies of views.
struct StagingPlan {
  int num_stages = 0;  ///< slots of the ring; 0: the program has no roles
  int slot_bytes = 0;
  int rows_bytes = 0;   ///< what tiles that lie as products do become rows in; 0: there are none
  int moved_bytes = 0;  ///< of the largest tile that the mover carries; 0: there is no mover
  int num_copy_stages = 0;  ///< of bulk copies; 0: there are none, or no room
  int copy_bytes = 0;
  int ring_bytes() const { return num_stages * slot_bytes; }
  int moved_offset() const { return ring_bytes() + rows_bytes; }
  int copy_offset() const { return moved_offset() + moved_bytes; }
  int num_bytes() const;
};
StagingPlan plan_staging(const Program& lowered);

/// Whether it loads or stores a tile that lies as products do, between memory and threads as rows.
bool goes_as_rows(const Statement& statement);

/// The arrays of flags that a producer polls once each (`flag_wait` attribute `once`).
std::vector<const Value*> arrays_waited_for_once(const Program& lowered);

/// The tensor maps of a program's loads of operands, without repetition.
std::vector<TensorMapSpec> tensor_maps_of(const Program& lowered);

// `emit_cuda` of the ops in compiler/ops/staging.cpp.
void emit_operand_load_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_staged_product_cuda(const Statement& matmul, CudaEmitter& emitter);
void emit_skip_product_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_finish_product_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_is_producer_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_give_index_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_take_index_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_hand_over_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_await_hand_over_cuda(const Statement& statement, CudaEmitter& emitter);
void emit_nothing_cuda(const Statement& statement, CudaEmitter& emitter);

}  // namespace tilewire

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/movement.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_relayout(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  return {Type::tile(tile.dtype, tile.shape)};
}

/// On the CPU no tile is spread over threads.
void emit_cpu_relayout(const Statement& statement, CpuEmitter& emitter) {
  const Value* tile = statement.operands[0];
  emitter.define_tile(statement, CpuEmitter::Cost::kFree,
                      [tile, &emitter](ScalarEmitter&, const CpuIndex& index) {
                        return emitter.element(tile, index);
                      });
}

}  // namespace

OpInfo relayout_op() {
  OpInfo op;
  op.name = "relayout";
  op.summary = "The same tile, spread over threads in another way.";
  op.min_operands = op.max_operands = 1;
  op.stage = Stage::kLowered;
  op.infer = infer_relayout;
  op.emit_cpu = emit_cpu_relayout;
  op.emit_cuda = emit_moved_cuda;
  op.cuda_shared_bytes = moved_shared_bytes;
  return op;
}

}  // namespace tilewire

#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_select(const OpCall& call) {
  const Type& condition = call.operands[0];
  const Type chosen = infer_elementwise(call, 1);
  if (condition.dtype != DType::kBool || !(condition.is_scalar() || condition.is_tile())) {
    call.fail(fmt::format("the condition is {}; it takes bool", condition.to_string()));
  }
  if (!condition.is_tile()) return {chosen};
  if (chosen.is_tile() && chosen.shape != condition.shape) {
    call.fail(fmt::format("shapes {} and {} differ", shape_to_string(condition.shape),
                          shape_to_string(chosen.shape)));
  }
  return {condition.with_dtype(chosen.dtype)};
}

void emit_cpu_select(const Statement& statement, CpuEmitter& emitter) {
  emitter.elementwise(statement, [](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
    return scalars.select(operands[0], operands[1], operands[2]);
  });
}

void emit_select_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* result = statement.result();
  if (!result->type.is_scalar()) {
    return emit_operator(statement, emitter, {"tw::select", "comparison.cuh"});
  }
  emitter.define(
      result,
      fmt::format("{} ? {} : {}", emitter.operand(statement.operands[0], Binding::kOr),
                  emitter.argument(statement.operands[1]), emitter.argument(statement.operands[2])),
      Binding::kChoose);
}

}  // namespace

OpInfo select_op() {
  OpInfo op;
  op.name = "select";
  op.summary = "`where(condition, a, b)`: a where the condition holds, else b.";
  op.min_operands = op.max_operands = 3;
  op.is_elementwise = true;
  op.infer = infer_select;
  op.emit_cpu = emit_cpu_select;
  op.emit_cuda = emit_select_cuda;
  return op;
}

}  // namespace tilewire

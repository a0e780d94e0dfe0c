#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_cast(const OpCall& call) {
  return {infer_elementwise(call).with_dtype(dtype_attribute(call, "dtype"))};
}

/// The emitter casts to the result's dtype by itself.
void emit_cpu_cast(const Statement& statement, CpuEmitter& emitter) {
  emitter.elementwise(
      statement, [](ScalarEmitter&, std::span<const CpuScalar> operands) { return operands[0]; });
}

void emit_cast_cuda(const Statement& statement, CudaEmitter& emitter) {
  const DType from = statement.operands.at(0)->type.dtype;
  const DType to = statement.result()->type.dtype;
  for (const DType dtype : {from, to}) {
    if (is_fp8(dtype)) emitter.include("fp8.cuh");
  }
  emit_operator(statement, emitter, {fmt::format("tw::cast<{}>", device_type(to)), "cast.cuh"});
}

}  // namespace

OpInfo cast_op() {
  OpInfo op;
  op.name = "cast";
  op.summary =
      "Another dtype. To a float: to nearest even, e4m3 saturates. Float to integer: towards zero, "
      "saturating, NaN gives 0. To bool: whether it is not 0.";
  op.min_operands = op.max_operands = 1;
  op.is_elementwise = true;
  op.attributes = {{"dtype", AttributeSpec::Kind::kDType, true, "of the result"}};
  op.infer = infer_cast;
  op.emit_cpu = emit_cpu_cast;
  op.emit_cuda = emit_cast_cuda;
  return op;
}

}  // namespace tilewire

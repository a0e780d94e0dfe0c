#include <fmt/format.h>

#include <map>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_comparison(const OpCall& call) {
  const Type type = infer_elementwise(call);
  refuse_fp8(call, type.dtype);
  return {type.with_dtype(DType::kBool)};
}

template <Comparison kComparison>
void emit_cpu_comparison(const Statement& statement, CpuEmitter& emitter) {
  emitter.elementwise(statement, [](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
    return scalars.compare(kComparison, operands[0], operands[1]);
  });
}

void emit_comparison_cuda(const Statement& statement, CudaEmitter& emitter) {
  static const std::map<std::string_view, CudaOperator> operators = {
      {"eq", {"tw::eq", "comparison.cuh", "==", Binding::kEqual}},
      {"ne", {"tw::ne", "comparison.cuh", "!=", Binding::kEqual}},
      {"lt", {"tw::lt", "comparison.cuh", "<", Binding::kCompare}},
      {"le", {"tw::le", "comparison.cuh", "<=", Binding::kCompare}},
      {"gt", {"tw::gt", "comparison.cuh", ">", Binding::kCompare}},
      {"ge", {"tw::ge", "comparison.cuh", ">=", Binding::kCompare}},
  };
  emit_operator(statement, emitter, operators.at(statement.op->name));
}

OpInfo comparison_op(std::string_view name, std::string_view summary,
                     void (*emit_cpu)(const Statement&, CpuEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 2;
  op.is_elementwise = true;
  op.infer = infer_comparison;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_comparison_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> comparison_ops() {
  return {
      comparison_op("eq", "`a == b`; false where one is NaN.",
                    emit_cpu_comparison<Comparison::kEq>),
      comparison_op("ne", "`a != b`; true where one is NaN.", emit_cpu_comparison<Comparison::kNe>),
      comparison_op("lt", "`a < b`; false where one is NaN.", emit_cpu_comparison<Comparison::kLt>),
      comparison_op("le", "`a <= b`; false where one is NaN.",
                    emit_cpu_comparison<Comparison::kLe>),
      comparison_op("gt", "`a > b`; false where one is NaN.", emit_cpu_comparison<Comparison::kGt>),
      comparison_op("ge", "`a >= b`; false where one is NaN.",
                    emit_cpu_comparison<Comparison::kGe>),
  };
}

}  // namespace tilewire

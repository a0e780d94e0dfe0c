#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_signed(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (type.dtype == DType::kBool || is_fp8(type.dtype)) {
    call.fail(fmt::format("works on integers and on floats of 16 bits or more, got {}",
                          name_of(type.dtype)));
  }
  return {type};
}

std::vector<Type> infer_float(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (!is_float(type.dtype) || is_fp8(type.dtype)) {
    call.fail(
        fmt::format("works on f16, bf16, f32 and f64, got {}; cast it first", name_of(type.dtype)));
  }
  return {type};
}

std::vector<Type> infer_not(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (is_float(type.dtype)) {
    call.fail(fmt::format("works on bool and integers, got {}", name_of(type.dtype)));
  }
  return {type};
}

void emit_math_cuda(const Statement& statement, CudaEmitter& emitter) {
  const std::string_view name = statement.op->name;
  if (name == "not" && statement.operands.at(0)->type == Type::scalar(DType::kBool)) {
    return emit_operator(statement, emitter, {"tw::bit_not", "math.cuh", "!", Binding::kUnary});
  }
  const std::string function = name == "not" ? "tw::bit_not" : fmt::format("tw::{}", name);
  emit_operator(statement, emitter, {function, "math.cuh"});
}

OpInfo unary_op(std::string_view name, std::string_view summary,
                std::vector<Type> (*infer)(const OpCall&),
                void (*emit_cpu)(const Statement&, CpuEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 1;
  op.is_elementwise = true;
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_math_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> math_ops() {
  return {
      unary_op("neg", "`-x`.", infer_signed, emit_cpu_unary<&ScalarEmitter::neg>),
      unary_op("not", "Logical for bool, bitwise for integers.", infer_not,
               emit_cpu_unary<&ScalarEmitter::bit_not>),
      unary_op("abs", "The absolute value.", infer_signed, emit_cpu_unary<&ScalarEmitter::abs>),
      unary_op("floor", "The largest integer not above x, as a float.", infer_float,
               emit_cpu_unary<&ScalarEmitter::floor>),
      unary_op("ceil", "The smallest integer not below x, as a float.", infer_float,
               emit_cpu_unary<&ScalarEmitter::ceil>),
      unary_op("round", "The nearest integer, as a float; halfway to the even one.", infer_float,
               emit_cpu_unary<&ScalarEmitter::round>),
      unary_op("trunc", "x without its fraction, as a float.", infer_float,
               emit_cpu_unary<&ScalarEmitter::trunc>),
      unary_op("exp", "e to the power x.", infer_float, emit_cpu_unary<&ScalarEmitter::exp>),
      unary_op("exp2", "2 to the power x.", infer_float, emit_cpu_unary<&ScalarEmitter::exp2>),
      unary_op("log", "The natural logarithm.", infer_float, emit_cpu_unary<&ScalarEmitter::log>),
      unary_op("log2", "The logarithm to base 2.", infer_float,
               emit_cpu_unary<&ScalarEmitter::log2>),
      unary_op("sqrt", "The square root.", infer_float, emit_cpu_unary<&ScalarEmitter::sqrt>),
      unary_op("rsqrt", "1 / sqrt(x).", infer_float, emit_cpu_unary<&ScalarEmitter::rsqrt>),
      unary_op("sin", "The sine of an angle in radians.", infer_float,
               emit_cpu_unary<&ScalarEmitter::sin>),
      unary_op("cos", "The cosine of an angle in radians.", infer_float,
               emit_cpu_unary<&ScalarEmitter::cos>),
      unary_op("tanh", "The hyperbolic tangent.", infer_float,
               emit_cpu_unary<&ScalarEmitter::tanh>),
      unary_op("erf", "The error function.", infer_float, emit_cpu_unary<&ScalarEmitter::erf>),
      unary_op("sigmoid", "1 / (1 + exp(-x)).", infer_float,
               emit_cpu_unary<&ScalarEmitter::sigmoid>),
  };
}

}  // namespace tilewire

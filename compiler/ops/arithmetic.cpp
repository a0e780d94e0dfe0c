#include <fmt/format.h>

#include <map>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

std::vector<Type> infer_arithmetic(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (type.dtype == DType::kBool) call.fail("bool has no arithmetic; cast it, or use and, or, xor");
  refuse_fp8(call, type.dtype);
  return {type};
}

std::vector<Type> infer_divide(const OpCall& call) {
  const Type type = infer_arithmetic(call).front();
  if (!is_float(type.dtype)) call.fail("integers are divided by `//`, or cast to a float first");
  return {type};
}

std::vector<Type> infer_float_arithmetic(const OpCall& call) {
  const Type type = infer_arithmetic(call).front();
  if (!is_float(type.dtype)) {
    call.fail(fmt::format("works on floats, got {}; cast it first", name_of(type.dtype)));
  }
  return {type};
}

std::vector<Type> infer_bits(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (is_float(type.dtype)) {
    call.fail(fmt::format("works on bool and integers, got {}", name_of(type.dtype)));
  }
  return {type};
}

/// Whether one index is divided by another that isn't a constant, which compilers know how to do.
bool divides_indices(const Statement& statement) {
  if (!statement.is("floordiv") && !statement.is("mod")) return false;
  const Statement* divisor = statement.operands.at(1)->definition;
  return statement.result()->type == Type::scalar(kIndex) &&
         (divisor == nullptr || !divisor->is("constant"));
}

void emit_arithmetic_cuda(const Statement& statement, CudaEmitter& emitter) {
  static const std::map<std::string_view, CudaOperator> operators = {
      {"add", {"tw::add", "arithmetic.cuh", "+", Binding::kAdd}},
      {"sub", {"tw::sub", "arithmetic.cuh", "-", Binding::kAdd}},
      {"mul", {"tw::mul", "arithmetic.cuh", "*", Binding::kMultiply}},
      {"div", {"tw::div", "arithmetic.cuh", "/", Binding::kMultiply}},
      {"floordiv", {"tw::floordiv", "arithmetic.cuh"}},
      {"mod", {"tw::mod", "arithmetic.cuh"}},
      {"minimum", {"tw::minimum", "arithmetic.cuh"}},
      {"maximum", {"tw::maximum", "arithmetic.cuh"}},
      {"pow", {"tw::pow", "math.cuh"}},
      {"fma", {"tw::fma", "arithmetic.cuh"}},
      {"and", {"tw::bit_and", "arithmetic.cuh"}},
      {"or", {"tw::bit_or", "arithmetic.cuh"}},
      {"xor", {"tw::bit_xor", "arithmetic.cuh"}},
  };
  static const std::map<std::string_view, CudaOperator> logic = {
      {"and", {"tw::bit_and", "arithmetic.cuh", "&&", Binding::kAnd}},
      {"or", {"tw::bit_or", "arithmetic.cuh", "||", Binding::kOr}},
  };
  if (divides_indices(statement)) {
    const std::string function = fmt::format("tw::{}_index", statement.op->name);
    return emit_operator(statement, emitter, {function, "arithmetic.cuh"});
  }
  const auto found = logic.find(statement.op->name);
  const bool is_logic = found != logic.end() && statement.result()->type.dtype == DType::kBool;
  emit_operator(statement, emitter, is_logic ? found->second : operators.at(statement.op->name));
}

void emit_cpu_fma(const Statement& statement, CpuEmitter& emitter) {
  emitter.elementwise(statement, [](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
    return scalars.fma(operands[0], operands[1], operands[2]);
  });
}

OpInfo binary_op(std::string_view name, std::string_view summary,
                 std::vector<Type> (*infer)(const OpCall&),
                 void (*emit_cpu)(const Statement&, CpuEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 2;
  op.is_elementwise = true;
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_arithmetic_cuda;
  return op;
}

OpInfo fma_op() {
  OpInfo op = binary_op(
      "fma", "`a * b + c` of floats, rounded once (16-bit floats: in f32, then once more).",
      infer_float_arithmetic, emit_cpu_fma);
  op.min_operands = op.max_operands = 3;
  return op;
}

}  // namespace

std::vector<OpInfo> arithmetic_ops() {
  return {
      binary_op("add", "`a + b`, element by element.", infer_arithmetic,
                emit_cpu_binary<&ScalarEmitter::add>),
      binary_op("sub", "`a - b`, element by element.", infer_arithmetic,
                emit_cpu_binary<&ScalarEmitter::sub>),
      binary_op("mul", "`a * b`, element by element.", infer_arithmetic,
                emit_cpu_binary<&ScalarEmitter::mul>),
      binary_op("div", "`a / b` of floats, element by element.", infer_divide,
                emit_cpu_binary<&ScalarEmitter::div>),
      binary_op("floordiv", "`a // b`, rounded down as in Python; an integer by 0 gives 0.",
                infer_arithmetic, emit_cpu_binary<&ScalarEmitter::floor_div>),
      binary_op("mod", "`a % b`, with the sign of b as in Python; an integer by 0 gives 0.",
                infer_arithmetic, emit_cpu_binary<&ScalarEmitter::mod>),
      binary_op("minimum", "The smaller of two, element by element; NaN wins.", infer_arithmetic,
                emit_cpu_binary<&ScalarEmitter::minimum>),
      binary_op("maximum", "The larger of two, element by element; NaN wins.", infer_arithmetic,
                emit_cpu_binary<&ScalarEmitter::maximum>),
      binary_op("pow", "a to the power b, of floats.", infer_float_arithmetic,
                emit_cpu_binary<&ScalarEmitter::pow>),
      fma_op(),
      binary_op("and", "Bitwise, or logical for bool.", infer_bits,
                emit_cpu_binary<&ScalarEmitter::bit_and>),
      binary_op("or", "Bitwise, or logical for bool.", infer_bits,
                emit_cpu_binary<&ScalarEmitter::bit_or>),
      binary_op("xor", "Bitwise, or logical for bool.", infer_bits,
                emit_cpu_binary<&ScalarEmitter::bit_xor>),
  };
}

}  // namespace tilewire

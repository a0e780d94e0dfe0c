#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_integers(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (!is_integer(type.dtype)) {
    call.fail(fmt::format("works on integers, got {}", name_of(type.dtype)));
  }
  return {type};
}

std::vector<Type> infer_bitcast(const OpCall& call) {
  const Type type = infer_elementwise(call);
  const DType to = dtype_attribute(call, "dtype");
  if (type.dtype == DType::kBool || to == DType::kBool) {
    call.fail("a bool has no bits of its own: cast it");
  }
  if (num_bytes(type.dtype) != num_bytes(to)) {
    call.fail(fmt::format("{} has {} bits, {} has {}: bitcast takes a dtype of the same width",
                          name_of(type.dtype), 8 * num_bytes(type.dtype), name_of(to),
                          8 * num_bytes(to)));
  }
  return {type.with_dtype(to)};
}

void emit_bits_cuda(const Statement& statement, CudaEmitter& emitter) {
  emit_operator(statement, emitter, {fmt::format("tw::{}", statement.op->name), "bits.cuh"});
}

void emit_cpu_bitcast(const Statement& statement, CpuEmitter& emitter) {
  const DType to = statement.dtype("dtype");
  emitter.elementwise(statement, [to](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
    return scalars.bitcast(operands[0], to);
  });
}

void emit_bitcast_cuda(const Statement& statement, CudaEmitter& emitter) {
  for (const DType dtype : {statement.operands.at(0)->type.dtype, statement.dtype("dtype")}) {
    if (is_fp8(dtype)) emitter.include("fp8.cuh");
  }
  emit_operator(
      statement, emitter,
      {fmt::format("tw::bitcast<{}>", device_type(statement.dtype("dtype"))), "bits.cuh"});
}

OpInfo bits_op(std::string_view name, int num_operands, std::string_view summary,
               void (*emit_cpu)(const Statement&, CpuEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = num_operands;
  op.is_elementwise = true;
  op.infer = infer_integers;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_bits_cuda;
  return op;
}

OpInfo bitcast_op() {
  OpInfo op;
  op.name = "bitcast";
  op.summary = "The same bits as a value of another dtype of the same width.";
  op.min_operands = op.max_operands = 1;
  op.is_elementwise = true;
  op.attributes = {{"dtype", AttributeSpec::Kind::kDType, true, "of the result"}};
  op.infer = infer_bitcast;
  op.emit_cpu = emit_cpu_bitcast;
  op.emit_cuda = emit_bitcast_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> bit_ops() {
  return {
      bits_op("shift_left", 2,
              "`a << b`. An amount that is negative, or at least the width, shifts everything out.",
              emit_cpu_binary<&ScalarEmitter::shift_left>),
      bits_op("shift_right", 2,
              "`a >> b`, filled with the sign of signed integers. An amount that is negative, or "
              "at least the width, shifts everything out.",
              emit_cpu_binary<&ScalarEmitter::shift_right>),
      bits_op("popcount", 1, "How many bits are set.", emit_cpu_unary<&ScalarEmitter::popcount>),
      bits_op("clz", 1, "How many zero bits stand above the highest set one; of 0, all of them.",
              emit_cpu_unary<&ScalarEmitter::leading_zeros>),
      bitcast_op(),
  };
}

}  // namespace tilewire

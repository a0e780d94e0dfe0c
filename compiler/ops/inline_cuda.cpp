#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/inline_cuda.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::vector<Type> infer_inline_cuda(const OpCall& call) {
  const bool has_reference = flag_attribute(call, "reference");
  const DType dtype = dtype_attribute(call, "dtype");
  std::vector<std::int64_t> shape;
  if (call.attributes.find("shape") != call.attributes.end()) {
    shape = integers_attribute(call, "shape");
    require_tile_shape(call, shape);
  }
  const std::size_t num_inputs = call.operands.size() - (has_reference ? 1 : 0);
  for (std::size_t i = 0; i < num_inputs; ++i) {
    const Type& input = call.operands[i];
    if (input.is_scalar()) continue;
    if (!input.is_tile()) call.fail("takes tiles and scalars, found " + input.to_string());
    if (shape.empty()) shape = input.shape;
    if (shape != input.shape) {
      call.fail(fmt::format("works element by element on one shape, found {} and {}",
                            shape_to_string(shape), shape_to_string(input.shape)));
    }
  }
  const Type result = shape.empty() ? Type::scalar(dtype) : Type::tile(dtype, shape);
  if (has_reference) {
    const Type& reference = call.operands.back();
    if (reference.kind != result.kind || reference.dtype != dtype ||
        reference.shape != result.shape) {
      call.fail(fmt::format("the reference gives {}, the CUDA text {}", reference.to_string(),
                            result.to_string()));
    }
  }
  return {result};
}

}  // namespace

OpInfo inline_cuda_op() {
  OpInfo op;
  op.name = "inline_cuda";
  op.summary =
      "CUDA text per element, `{0}`, `{1}`, … being the inputs; on the CPU, its reference.";
  op.max_operands = -1;
  op.attributes = {
      {"code", AttributeSpec::Kind::kText, true, "an expression, or statements that return"},
      {"dtype", AttributeSpec::Kind::kDType, true, "of the result"},
      {"line", AttributeSpec::Kind::kInteger, true,
       "of the text's beginning in the program's file"},
      {"shape", AttributeSpec::Kind::kIntegers, false, "of the result, where no input is a tile"},
      {"reference", AttributeSpec::Kind::kBool, false,
       "the last operand is what the CPU computes instead"}};
  op.is_elementwise = true;
  op.infer = infer_inline_cuda;
  // The reference takes its place on the CPU (passes/choose_inline.cpp).
  op.emit_cpu = [](const Statement& statement, CpuEmitter&) {
    throw InternalError("`inline_cuda` is left in a program for the CPU", statement.location);
  };
  op.emit_cuda = emit_inline_cuda;
  return op;
}

}  // namespace tilewire

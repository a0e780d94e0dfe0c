#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/operators.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

bool has_attribute(const Attributes& attributes, std::string_view name) {
  return attributes.find(name) != attributes.end();
}

bool is_plain(const Statement& statement) {
  return !statement.has("rounding") && !statement.has("saturate");
}

std::vector<Type> infer_cast(const OpCall& call) {
  const Type type = infer_elementwise(call);
  const DType to = dtype_attribute(call, "dtype");
  const bool has_rounding = has_attribute(call.attributes, "rounding");
  if (has_rounding) require_one_of(call, "rounding", {"nearest", "toward_zero", "up", "down"});
  if (has_rounding || has_attribute(call.attributes, "saturate")) {
    if (!is_float(type.dtype) || !is_float(to)) {
      call.fail(
          fmt::format("rounding= and saturate= are for floats that become floats, found {} "
                      "to {}",
                      name_of(type.dtype), name_of(to)));
    }
  }
  return {type.with_dtype(to)};
}

Rounding rounding_of(const Statement& statement) {
  if (!statement.has("rounding")) return Rounding::kNearest;
  const std::string& name = statement.text("rounding");
  return name == "toward_zero" ? Rounding::kTowardZero
         : name == "up"        ? Rounding::kUp
         : name == "down"      ? Rounding::kDown
                               : Rounding::kNearest;
}

/// e4m3 saturates unless told otherwise: it has no infinity.
bool saturates(const Statement& statement) {
  return statement.has("saturate") ? statement.flag("saturate")
                                   : statement.dtype("dtype") == DType::kE4M3;
}

/// The emitter makes plain casts to the result's dtype by itself.
void emit_cpu_cast(const Statement& statement, CpuEmitter& emitter) {
  emitter.elementwise(statement,
                      [&statement](ScalarEmitter& scalars, std::span<const CpuScalar> operands) {
                        if (is_plain(statement)) return operands[0];
                        return scalars.cast_rounded(operands[0], statement.dtype("dtype"),
                                                    rounding_of(statement), saturates(statement));
                      });
}

std::string_view device_rounding(Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return "tw::Rounding::kNearest";
    case Rounding::kTowardZero:
      return "tw::Rounding::kTowardZero";
    case Rounding::kUp:
      return "tw::Rounding::kUp";
    case Rounding::kDown:
      return "tw::Rounding::kDown";
  }
  throw InternalError("a rounding out of range");
}

void emit_cast_cuda(const Statement& statement, CudaEmitter& emitter) {
  const DType from = statement.operands.at(0)->type.dtype;
  const DType to = statement.result()->type.dtype;
  for (const DType dtype : {from, to}) {
    if (is_fp8(dtype)) emitter.include("fp8.cuh");
  }
  if (is_plain(statement)) {
    return emit_operator(statement, emitter,
                         {fmt::format("tw::cast<{}>", device_type(to)), "cast.cuh"});
  }
  emit_operator(statement, emitter,
                {fmt::format("tw::cast<{}, {}, {}>", device_type(to),
                             device_rounding(rounding_of(statement)), saturates(statement)),
                 "rounding.cuh"});
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
  op.attributes = {
      {"dtype", AttributeSpec::Kind::kDType, true, "of the result"},
      {"rounding", AttributeSpec::Kind::kText, false, "`nearest`, `toward_zero`, `up` or `down`"},
      {"saturate", AttributeSpec::Kind::kBool, false,
       "too large becomes the largest number, not infinity (e4m3: NaN)"}};
  op.infer = infer_cast;
  op.emit_cpu = emit_cpu_cast;
  op.emit_cuda = emit_cast_cuda;
  return op;
}

}  // namespace tilewire

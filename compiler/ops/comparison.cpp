#include <fmt/format.h>

#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_comparison(const OpCall& call) {
  const Type type = infer_elementwise(call);
  if (is_float(type.dtype) && num_bytes(type.dtype) == 1) {
    call.fail(fmt::format("{} has no arithmetic of its own; cast it to f32", name_of(type.dtype)));
  }
  return {type.with_dtype(DType::kBool)};
}

OpInfo comparison_op(std::string_view name, std::string_view summary) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 2;
  op.infer = infer_comparison;
  return op;
}

}  // namespace

std::vector<OpInfo> comparison_ops() {
  return {
      comparison_op("eq", "`a == b`; false where one is NaN."),
      comparison_op("ne", "`a != b`; true where one is NaN."),
      comparison_op("lt", "`a < b`; false where one is NaN."),
      comparison_op("le", "`a <= b`; false where one is NaN."),
      comparison_op("gt", "`a > b`; false where one is NaN."),
      comparison_op("ge", "`a >= b`; false where one is NaN."),
  };
}

}  // namespace tilewire

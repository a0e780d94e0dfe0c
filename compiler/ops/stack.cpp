#include <fmt/format.h>

#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_stack(const OpCall& call) {
  const Type& first = call.operands.front();
  for (const Type& each : call.operands) {
    if (each == first && (each.is_tile() || each.is_scalar())) continue;
    call.fail(fmt::format("takes tiles or scalars of one shape and dtype, found {} and {}",
                          first.to_string(), each.to_string()));
  }
  std::vector<std::int64_t> shape = {static_cast<std::int64_t>(call.operands.size())};
  shape.insert(shape.end(), first.shape.begin(), first.shape.end());
  require_tile_shape(call, shape);
  return {Type::tile(first.dtype, std::move(shape))};
}

}  // namespace

std::vector<OpInfo> stack_ops() {
  OpInfo op;
  op.name = "stack";
  op.summary = "Tiles or scalars along a new first dimension.";
  op.min_operands = 1;
  op.max_operands = -1;
  op.stage = Stage::kFrontend;
  op.infer = infer_stack;
  return {op};
}

}  // namespace tilewire

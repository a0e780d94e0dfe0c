#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/access.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"

namespace tilewire {
namespace {

std::vector<Type> infer_prefetch(const OpCall& call) {
  const Type& view = require_view(call, 0);
  for (const std::int64_t extent : view.shape) {
    if (extent == kDynamic) {
      call.fail(
          fmt::format("{} has an extent that is known only at run time: take a part of it "
                      "with tw.ds(start, size)",
                      view.to_string()));
    }
  }
  return {};
}

std::vector<Type> infer_tile_prefetch(const OpCall& call) {
  const DType dtype = require_pointer(call, 0).dtype;
  const auto& shape = integers_attribute(call, "shape");
  check_access(call, shape.empty() ? Type::scalar(dtype) : Type::tile(dtype, shape), 1);
  return {};
}

OpInfo prefetch_op() {
  OpInfo op;
  op.name = "prefetch";
  op.summary = "Brings a view's memory into the L2 cache; computes and orders nothing.";
  op.min_operands = op.max_operands = 1;
  op.effect = Effect::kHidden;
  op.stage = Stage::kFrontend;
  op.infer = infer_prefetch;
  return op;
}

OpInfo tile_prefetch_op() {
  OpInfo op;
  op.name = "tile_prefetch";
  op.summary = "A prefetch, with strides and masks spelled out.";
  op.min_operands = 1;
  op.max_operands = -1;
  op.attributes = access_attributes();
  std::erase_if(op.attributes, [](const AttributeSpec& spec) {
    return spec.name == "other" || spec.name == "where" || spec.name == "gather" ||
           spec.name == "cache" || spec.name == "constant";
  });
  op.effect = Effect::kHidden;
  op.stage = Stage::kLowered;
  op.infer = infer_tile_prefetch;
  op.emit_cpu = [](const Statement&, CpuEmitter&) {};  // a host's caches look ahead by themselves
  op.emit_cuda = emit_tile_prefetch_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> prefetch_ops() { return {prefetch_op(), tile_prefetch_op()}; }

}  // namespace tilewire

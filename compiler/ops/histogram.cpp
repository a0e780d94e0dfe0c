#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

std::vector<Type> infer(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  const std::int64_t num_bins = integer_attribute(call, "num_bins");
  if (!is_integer(tile.dtype)) {
    call.fail(fmt::format("counts integers, found {}: cast to tw.i32", tile.to_string()));
  }
  require_tile_shape(call, {num_bins});
  return {Type::tile(DType::kI32, {num_bins})};
}

void emit_cpu(const Statement& statement, CpuEmitter& emitter) {
  emitter.call_reference(statement, "tilewire_histogram");
}

void emit_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("histogram.cuh");
  const Value* result = statement.result();
  emitter.define_here(
      result,
      fmt::format("tw::histogram<{}>({}, {})", emitter.type(result->type),
                  emitter.argument(statement.operands.at(0)), emitter.shared(statement)),
      "counts");
}

int cuda_shared_bytes(const Statement& statement, int) {
  return device::piece_bytes(static_cast<int>(statement.result()->type.num_elements()),
                             num_bytes(DType::kI32));
}

}  // namespace

OpInfo histogram_op() {
  OpInfo op;
  op.name = "histogram";
  op.summary = "How often each of 0 … num_bins - 1 stands in a tile of integers, as i32.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {
      {"num_bins", AttributeSpec::Kind::kInteger, true, "of the result; others are left out"}};
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_cuda;
  op.cuda_shared_bytes = cuda_shared_bytes;
  return op;
}

}  // namespace tilewire

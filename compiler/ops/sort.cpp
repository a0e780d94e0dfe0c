#include <fmt/format.h>

#include <array>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

std::vector<Type> infer(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  refuse_fp8(call, tile.dtype);
  const auto extent = static_cast<int>(tile.shape[static_cast<std::size_t>(require_axis(call))]);
  const int most = device::kMaxPieceBytes / num_bytes(tile.dtype);
  if (extent > most) {
    call.fail(fmt::format("sorts at most {} elements of {} along an axis, found {}", most,
                          name_of(tile.dtype), extent));
  }
  return {Type::tile(tile.dtype, tile.shape)};
}

void emit_cpu(const Statement& statement, CpuEmitter& emitter) {
  const std::array<std::int64_t, 2> constants = {statement.integer("axis"),
                                                 statement.flag("descending") ? 1 : 0};
  emitter.call_reference(statement, "tilewire_sort", constants);
}

void emit_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("sort.cuh");
  const Value* tile = statement.operands.at(0);
  const Value* result = statement.result();
  emitter.define_here(
      result,
      fmt::format("tw::sort<{}, {}, {}, {}>({}, {})", statement.integer("axis"),
                  statement.flag("descending"), emitter.extents(tile->type),
                  emitter.type(result->type), emitter.argument(tile), emitter.shared(statement)),
      "sorted");
}

int cuda_shared_bytes(const Statement& statement, int) {
  const Type& tile = statement.operands.at(0)->type;
  const auto size =
      static_cast<int>(tile.shape[static_cast<std::size_t>(statement.integer("axis"))]);
  const int lines = static_cast<int>(tile.num_elements()) / size;
  const int bytes = num_bytes(tile.dtype);
  return device::sort_lines(lines, size, bytes) * device::smallest_power_of_two(size) * bytes;
}

}  // namespace

OpInfo sort_op() {
  OpInfo op;
  op.name = "sort";
  op.summary = "The elements along an axis in ascending order, NaN last; equal ones in any order.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {
      {"axis", AttributeSpec::Kind::kInteger, true, "from 0"},
      {"descending", AttributeSpec::Kind::kBool, false, "the largest first; NaN is last too"}};
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_cuda;
  op.cuda_shared_bytes = cuda_shared_bytes;
  return op;
}

}  // namespace tilewire

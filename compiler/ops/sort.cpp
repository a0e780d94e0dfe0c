#include <fmt/format.h>

#include <array>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

/// Bytes that an element and, of `argsort`, its number take in shared memory.
int bytes_of(const OpInfo& op, DType dtype) {
  return num_bytes(dtype) + (op.name == "argsort" ? num_bytes(DType::kI32) : 0);
}

std::vector<Type> infer(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  refuse_fp8(call, tile.dtype);
  const auto extent = static_cast<int>(tile.shape[static_cast<std::size_t>(require_axis(call))]);
  int most = 1;  // with padding, a power of two
  while (2 * most * bytes_of(call.info, tile.dtype) <= device::kMaxPieceBytes) most *= 2;
  if (extent > most) {
    call.fail(fmt::format("sorts at most {} elements of {} along an axis, found {}", most,
                          name_of(tile.dtype), extent));
  }
  std::vector<Type> results = {Type::tile(tile.dtype, tile.shape)};
  if (call.info.name == "argsort") results.push_back(Type::tile(DType::kI32, tile.shape));
  return results;
}

void emit_cpu(const Statement& statement, CpuEmitter& emitter) {
  const std::array<std::int64_t, 2> constants = {statement.integer("axis"),
                                                 statement.flag("descending") ? 1 : 0};
  emitter.call_reference(statement, statement.is("sort") ? "tilewire_sort" : "tilewire_argsort",
                         constants);
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

void emit_argsort_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("sort.cuh");
  const Value* tile = statement.operands.at(0);
  const std::string sorted = emitter.declare(statement.results.at(0), "sorted");
  const std::string indices = emitter.declare(statement.results.at(1), "indices");
  emitter.statement(fmt::format("tw::argsort<{}, {}, {}>({}, {}, {}, {});",
                                statement.integer("axis"), statement.flag("descending"),
                                emitter.extents(tile->type), emitter.argument(tile),
                                emitter.shared(statement), sorted, indices));
}

int cuda_shared_bytes(const Statement& statement, int) {
  const Type& tile = statement.operands.at(0)->type;
  const auto size =
      static_cast<int>(tile.shape[static_cast<std::size_t>(statement.integer("axis"))]);
  const int lines = static_cast<int>(tile.num_elements()) / size;
  const int bytes = bytes_of(*statement.op, tile.dtype);
  return device::sort_lines(lines, size, bytes) * device::smallest_power_of_two(size) * bytes;
}

}  // namespace

std::vector<OpInfo> sort_ops() {
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
  OpInfo argsort = op;
  argsort.name = "argsort";
  argsort.summary =
      "As `sort`, and where each element stood, as i32: two results; equal ones in their order.";
  argsort.emit_cuda = emit_argsort_cuda;
  return {op, argsort};
}

}  // namespace tilewire

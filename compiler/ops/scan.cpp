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
  require_axis(call);
  return {Type::tile(sum_dtype(call, tile.dtype), tile.shape)};
}

void emit_cpu(const Statement& statement, CpuEmitter& emitter) {
  const DType dtype = statement.result()->type.dtype;
  const bool is_sum = statement.is("cumsum");
  CpuEmitter::OrderedFold fold;
  fold.axis = statement.integer("axis");
  fold.is_reverse = statement.flag("reverse");
  fold.keeps_all = true;
  fold.initial = {emitter.scalars().cast(emitter.scalars().integer(is_sum ? 0 : 1), dtype)};
  fold.step = [is_sum, dtype](ScalarEmitter& s, std::vector<CpuScalar> before, CpuScalar x,
                              CpuScalar) -> std::vector<CpuScalar> {
    const CpuScalar own = s.cast(x, dtype);
    return {is_sum ? s.add(before[0], own) : s.mul(before[0], own)};
  };
  emitter.fold_in_order(statement, fold);
}

int cuda_shared_bytes(const Statement& statement, int num_threads) {
  const Type& result = statement.result()->type;
  const std::int64_t size = result.shape[static_cast<std::size_t>(statement.integer("axis"))];
  const auto num_elements = static_cast<int>(result.num_elements());
  return device::scan_bytes(num_elements, num_elements / static_cast<int>(size), num_threads,
                            num_bytes(result.dtype));
}

void emit_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("scan.cuh");
  const Value* tile = statement.operands.at(0);
  const Value* result = statement.result();
  emitter.define_here(
      result,
      fmt::format("tw::scan<tw::{}, {}, {}, {}, {}>({}, {})",
                  statement.is("cumsum") ? "RunningSum" : "RunningProduct",
                  statement.integer("axis"), statement.flag("reverse"), emitter.extents(tile->type),
                  emitter.type(result->type), emitter.argument(tile), emitter.shared(statement)),
      statement.op->name);
}

OpInfo scan_op(std::string_view name, std::string_view summary) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 1;
  op.attributes = {
      {"axis", AttributeSpec::Kind::kInteger, true, "from 0"},
      {"reverse", AttributeSpec::Kind::kBool, false, "from the last element to the first"}};
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_cuda;
  op.cuda_shared_bytes = cuda_shared_bytes;
  return op;
}

}  // namespace

std::vector<OpInfo> scan_ops() {
  return {
      scan_op("cumsum",
              "Each element and all before it along an axis, summed; dtypes as for `sum`."),
      scan_op("cumprod",
              "Each element and all before it along an axis, multiplied; dtypes as for `sum`."),
  };
}

}  // namespace tilewire

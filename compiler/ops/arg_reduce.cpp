#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/layouts.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

std::vector<Type> infer(const OpCall& call) {
  const Type& tile = require_tile(call, 0);
  refuse_fp8(call, tile.dtype);
  std::vector<std::int64_t> shape;
  if (call.attributes.find("axis") != call.attributes.end()) {
    shape = tile.shape;
    shape.erase(shape.begin() + require_axis(call));
  }
  if (shape.empty()) return {Type::scalar(tile.dtype), Type::scalar(DType::kI32)};
  return {Type::tile(tile.dtype, shape), Type::tile(DType::kI32, shape)};
}

/// Elements come in order, so that only a better one replaces what was found.
void emit_cpu(const Statement& statement, CpuEmitter& emitter) {
  const DType dtype = statement.results.at(0)->type.dtype;
  const Comparison better = statement.is("argmax") ? Comparison::kGt : Comparison::kLt;
  CpuEmitter::OrderedFold fold;
  if (statement.has("axis")) fold.axis = statement.integer("axis");
  ScalarEmitter& scalars = emitter.scalars();
  fold.initial = {scalars.cast(scalars.integer(0), dtype), scalars.integer(0, DType::kI32)};
  fold.step = [dtype, better](ScalarEmitter& s, std::vector<CpuScalar> found, CpuScalar x,
                              CpuScalar position) -> std::vector<CpuScalar> {
    CpuScalar wins = s.compare(better, x, found[0]);
    if (is_float(dtype)) {
      const CpuScalar is_nan = s.compare(Comparison::kNe, x, x);
      const CpuScalar was_number = s.compare(Comparison::kEq, found[0], found[0]);
      wins = s.bit_or(wins, s.bit_and(is_nan, was_number));
    }
    wins = s.bit_or(wins, s.compare(Comparison::kEq, position, s.integer(0)));
    return {s.select(wins, x, found[0]), s.select(wins, s.cast(position, DType::kI32), found[1])};
  };
  emitter.fold_in_order(statement, fold);
}

/// Whether a warp has whole rows, and the results lie in the registers of its threads.
bool is_in_registers(const Statement& statement) {
  const Type& tile = statement.operands.at(0)->type;
  if (!statement.has("axis") || statement.integer("axis") + 1 != tile.rank()) return false;
  const Layout slice = layout_of_slice(Slice::kPerRow, tile);
  if (!slice.is_known() || tile.layout.lanes > device::kWarpThreads) return false;
  return std::ranges::all_of(statement.results, [&slice](const Value* result) {
    return result->type.is_tile() && result->type.layout == slice;
  });
}

int cuda_shared_bytes(const Statement& statement, int num_threads) {
  const Type& tile = statement.operands.at(0)->type;
  const Type& result = statement.results.at(0)->type;
  if (result.is_scalar()) {
    if (num_threads <= device::kWarpThreads) return 0;
    // A value and an index per warp, aligned alike.
    return device::reduce_bytes(num_threads, 2 * std::max(num_bytes(result.dtype), 4));
  }
  if (is_in_registers(statement)) return 0;
  const auto num_results = static_cast<int>(result.num_elements());
  return std::max(
      {device::piece_bytes(static_cast<int>(tile.num_elements()), num_bytes(tile.dtype)),
       device::piece_bytes(num_results, num_bytes(result.dtype)),
       device::piece_bytes(num_results, num_bytes(DType::kI32))});
}

void emit_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("arg_reduce.cuh");
  const Value* tile = statement.operands.at(0);
  const bool is_max = statement.is("argmax");
  const std::string value =
      emitter.declare(statement.results.at(0), is_max ? "largest" : "smallest");
  const std::string index = emitter.declare(statement.results.at(1), "index");
  const std::string order = is_max ? "tw::Larger" : "tw::Smaller";
  if (is_in_registers(statement)) {
    return emitter.statement(fmt::format("tw::arg_reduce_rows<{}>({}, {}, {});", order,
                                         emitter.argument(tile), value, index));
  }
  const std::string function =
      statement.results.at(0)->type.is_scalar()
          ? fmt::format("tw::arg_reduce<{}>", order)
          : fmt::format("tw::arg_reduce_axis<{}, {}, {}>", order, statement.integer("axis"),
                        emitter.extents(tile->type));
  emitter.statement(fmt::format("{}({}, {}, {}, {});", function, emitter.argument(tile),
                                emitter.shared(statement), value, index));
}

OpInfo arg_reduce_op(std::string_view name, std::string_view summary) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"axis", AttributeSpec::Kind::kInteger, false,
                    "from 0; absent: all of them, counted in row-major order"}};
  op.infer = infer;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_cuda;
  op.cuda_shared_bytes = cuda_shared_bytes;
  op.reduces_axis = true;
  return op;
}

}  // namespace

std::vector<OpInfo> arg_reduce_ops() {
  return {
      arg_reduce_op("argmax",
                    "The largest element and where it stands, as i32: two results; NaN wins, then "
                    "the lowest index."),
      arg_reduce_op("argmin",
                    "The smallest element and where it stands, as i32: two results; NaN wins, then "
                    "the lowest index."),
  };
}

}  // namespace tilewire

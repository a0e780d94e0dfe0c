#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_constant(const OpCall& call) {
  const DType dtype = dtype_attribute(call, "dtype");
  const Attribute& value = call.attributes.find("value")->second;
  const bool fits = is_float(dtype)         ? std::holds_alternative<double>(value)
                    : dtype == DType::kBool ? std::holds_alternative<bool>(value)
                                            : std::holds_alternative<std::int64_t>(value);
  if (!fits) {
    call.fail(fmt::format("{} is not a value of dtype {}", to_string(value), name_of(dtype)));
  }
  return {Type::scalar(dtype)};
}

std::vector<Type> infer_grid_axis(const OpCall& call) {
  const std::int64_t axis = integer_attribute(call, "axis");
  if (axis < 0 || axis > 2)
    call.fail(fmt::format("axis {} of a grid; a grid has axes 0 to 2", axis));
  return {Type::scalar(kIndex)};
}

std::vector<Type> infer_rank(const OpCall& call) {
  require_one_of(call, "team", {"world", "lsa", "rail", "local"});
  return {Type::scalar(kIndex)};
}

void emit_cpu_constant(const Statement& statement, CpuEmitter& emitter) {
  const DType dtype = statement.dtype("dtype");
  const Attribute& value = statement.attributes.find("value")->second;
  ScalarEmitter& scalars = emitter.scalars();
  if (is_float(dtype)) {
    emitter.define(statement.result(), scalars.number(std::get<double>(value), dtype));
  } else {
    const std::int64_t integer =
        dtype == DType::kBool ? std::int64_t{std::get<bool>(value)} : std::get<std::int64_t>(value);
    emitter.define(statement.result(), scalars.integer(integer, dtype));
  }
}

void emit_cpu_program_id(const Statement& statement, CpuEmitter& emitter) {
  emitter.define(statement.result(),
                 emitter.program_id(static_cast<int>(statement.integer("axis"))));
}

void emit_cpu_num_programs(const Statement& statement, CpuEmitter& emitter) {
  emitter.define(statement.result(),
                 emitter.num_programs(static_cast<int>(statement.integer("axis"))));
}

/// LSA teams are consecutive ranks of the world.
void emit_cpu_rank(const Statement& statement, CpuEmitter& emitter) {
  CpuScalar rank = emitter.rank();
  if (statement.text("team") == "lsa") {
    ScalarEmitter& scalars = emitter.scalars();
    rank = scalars.mod(rank, scalars.integer(emitter.program().lsa_size));
  }
  emitter.define(statement.result(), rank);
}

void emit_constant_cuda(const Statement& statement, CudaEmitter& emitter) {
  const DType dtype = statement.result()->type.dtype;
  if (num_bytes(dtype) < 4 && is_float(dtype)) emitter.include("cast.cuh");
  if (is_fp8(dtype)) emitter.include("fp8.cuh");
}  // its literal stands where it is used

void emit_grid_axis_cuda(const Statement& statement, CudaEmitter& emitter) {
  const std::string_view variable = statement.is("program_id") ? "blockIdx" : "gridDim";
  const char axis = "xyz"[statement.integer("axis")];
  emitter.define(statement.result(), fmt::format("int64_t{{{}.{}}}", variable, axis));
}

void emit_rank_cuda(const Statement& statement, CudaEmitter& emitter) {
  const std::string_view field = statement.text("team") == "lsa" ? "lsa_rank" : "rank";
  emitter.define(statement.result(), fmt::format("int64_t{{lane.{}}}", field));
}

// A constant's value may be of any type: `infer_constant` checks it against the dtype.
OpInfo constant_op() {
  OpInfo op;
  op.name = "constant";
  op.summary = "A scalar that is known at compile time.";
  op.attributes = {{"value", AttributeSpec::Kind::kAny, true, "the number, as the dtype stores it"},
                   {"dtype", AttributeSpec::Kind::kDType, true, "its dtype"}};
  op.infer = infer_constant;
  op.emit_cpu = emit_cpu_constant;
  op.emit_cuda = emit_constant_cuda;
  return op;
}

OpInfo grid_op(std::string_view name, std::string_view summary,
               void (*emit_cpu)(const Statement&, CpuEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.attributes = {{"axis", AttributeSpec::Kind::kInteger, true, "0 to 2"}};
  op.infer = infer_grid_axis;
  op.emit_cpu = emit_cpu;
  op.emit_cuda = emit_grid_axis_cuda;
  return op;
}

OpInfo is_lsa_op() {
  OpInfo op;
  op.name = "is_lsa";
  op.summary = "Whether loads and stores reach the memory of a rank of the world.";
  op.min_operands = op.max_operands = 1;
  op.stage = Stage::kFrontend;
  op.infer = [](const OpCall& call) {
    require_index(call, 0);
    return std::vector<Type>{Type::scalar(DType::kBool)};
  };
  return op;
}

OpInfo non_negative_op() {
  OpInfo op;
  op.name = "non_negative";
  op.summary = "The same index, of which it is known that it isn't below 0.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {
      {"tiles", AttributeSpec::Kind::kInteger, false,
       "the number of a `tw.tiles` whose tile's row or column it is: each index has another tile"}};
  op.infer = [](const OpCall& call) {
    require_index(call, 0);
    return std::vector<Type>{Type::scalar(kIndex)};
  };
  op.emit_cpu = [](const Statement& statement, CpuEmitter& emitter) {
    emitter.define(statement.result(), emitter.scalar(statement.operands[0]));
  };
  op.emit_cuda = [](const Statement& statement, CudaEmitter& emitter) {
    emitter.alias(statement.result(), statement.operands[0]);
  };
  return op;
}

OpInfo rank_op() {
  OpInfo op;
  op.name = "rank";
  op.summary = "This rank's number in a team.";
  op.attributes = {{"team", AttributeSpec::Kind::kText, true, "`world`, `lsa`, `rail` or `local`"}};
  op.infer = infer_rank;
  op.emit_cpu = emit_cpu_rank;
  op.emit_cuda = emit_rank_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> scalar_ops() {
  return {constant_op(),
          grid_op("program_id", "The number of this program instance along an axis of the grid.",
                  emit_cpu_program_id),
          grid_op("num_programs", "How many program instances run along an axis of the grid.",
                  emit_cpu_num_programs),
          rank_op(),
          is_lsa_op(),
          non_negative_op()};
}

}  // namespace tilewire

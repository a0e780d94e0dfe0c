#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_arrive(const OpCall& call) {
  for (std::size_t i = 0; i < 3; ++i) require_index(call, i);
  return {Type::scalar(DType::kBool)};
}

/// The place's word among those of all `arrive` of the kernel.
CpuScalar word_of(const Statement& statement, CpuEmitter& emitter) {
  ScalarEmitter& scalars = emitter.scalars();
  const CpuScalar place = emitter.scalar(statement.operands[0]);
  const CpuScalar sites = scalars.integer(statement.integer("sites"), kIndex);
  const CpuScalar site = scalars.integer(statement.integer("site_number"), kIndex);
  return scalars.add(scalars.mul(place, sites), site);
}

void emit_cpu_arrive(const Statement& statement, CpuEmitter& emitter) {
  emitter.define(statement.result(), emitter.arrive(word_of(statement, emitter),
                                                    emitter.scalar(statement.operands[1])));
}

void emit_arrive_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("arrive.cuh");
  const Value* place = statement.operands[0];
  const std::int64_t sites = statement.integer("sites");
  const std::string word =
      sites > 1 ? fmt::format("{} * {} + {}", emitter.operand(place, Binding::kMultiply), sites,
                              statement.integer("site_number"))
                : emitter.operand(place, Binding::kAdd);
  std::string exists = "true";
  if (!statement.flag("inside")) {
    exists = fmt::format("tw::is_place({}, {})", emitter.argument(place),
                         emitter.argument(statement.operands[2]));
  }
  emitter.define_here(
      statement.result(),
      fmt::format("tw::arrive_last({}, arrival_words + {}, {}, {})", emitter.shared(statement),
                  word, exists, emitter.argument(statement.operands[1])),
      "is_last");
}

int arrive_shared_bytes(const Statement&, int) { return num_bytes(DType::kU32); }

}  // namespace

OpInfo arrive_op() {
  OpInfo op;
  op.name = "arrive";
  op.summary =
      "Counts this instance's arrival at a place of the launch, behind everything that it did "
      "before; whether it is the last of so many, which sees what all of them did.";
  op.min_operands = op.max_operands = 3;  // place, count, places
  op.attributes = {
      {"inside", AttributeSpec::Kind::kBool, false, "the place is known to be one of them"},
      {"site_number", AttributeSpec::Kind::kInteger, false,
       "which of the kernel's `arrive` it is; each has places of its own"},
      {"sites", AttributeSpec::Kind::kInteger, false, "how many the kernel has"}};
  op.effect = Effect::kSynchronises;
  op.infer = infer_arrive;
  op.emit_cpu = emit_cpu_arrive;
  op.emit_cuda = emit_arrive_cuda;
  op.cuda_shared_bytes = arrive_shared_bytes;
  return op;
}

}  // namespace tilewire

#include <fmt/format.h>
#include <map>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

std::vector<Type> infer_barrier(const OpCall& call) {
  require_one_of(call, "team", {"world", "lsa", "rail", "local"});
  require_one_of(call, "scope", {"instance", "grid"});
  require_one_of(call, "order", {"acq_rel", "acquire", "release", "relaxed"});
  return {};
}

std::vector<Type> infer_lsa_barrier(const OpCall& call) {
  require_one_of(call, "order", {"acq_rel", "acquire", "release", "relaxed"});
  return {};
}

/// The planner of synchronisation puts a `__syncthreads` before and behind it where needed.
void emit_lsa_barrier_cuda(const Statement& statement, CudaEmitter& emitter) {
  static const std::map<std::string_view, std::string_view> orders = {{"acq_rel", "kAcqRel"},
                                                                      {"acquire", "kAcquire"},
                                                                      {"release", "kRelease"},
                                                                      {"relaxed", "kRelaxed"}};
  emitter.include("lsa_barrier.cuh");
  emitter.statement(fmt::format("barrier.sync<tw::Order::{}>({});",
                                orders.at(statement.text("order")), statement.integer("site")));
}

Resources needs_barrier(const Statement&) {
  Resources resources;
  resources.lane = resources.world_barrier = resources.waits = resources.two_sided = true;
  return resources;
}

void emit_cpu_lsa_barrier(const Statement& statement, CpuEmitter& emitter) {
  const CpuScalar site = emitter.scalars().integer(statement.integer("site"), DType::kU32);
  emitter.call_runtime("tilewire_lsa_barrier", {&site, 1});
}

OpInfo barrier_op() {
  OpInfo op;
  op.name = "barrier";
  op.summary = "The instances with one linear program id on all ranks of the team meet.";
  op.attributes = {
      {"team", AttributeSpec::Kind::kText, true, "`world`, `lsa`, `rail` or `local`"},
      {"scope", AttributeSpec::Kind::kText, true, "`instance` or `grid`"},
      {"order", AttributeSpec::Kind::kText, true, "`acq_rel`, `acquire`, `release` or `relaxed`"}};
  op.effect = Effect::kSynchronises;
  op.stage = Stage::kFrontend;
  op.infer = infer_barrier;
  op.resources = needs_barrier;
  return op;
}

OpInfo lsa_barrier_op() {
  OpInfo op;
  op.name = "lsa_barrier";
  op.summary = "A barrier between one instance of each rank of the LSA team, by stores and loads.";
  op.attributes = {{"order", AttributeSpec::Kind::kText, true, "as for `barrier`"},
                   {"site", AttributeSpec::Kind::kInteger, true, "its number in hang reports"}};
  op.effect = Effect::kSynchronises;
  op.stage = Stage::kLowered;
  op.infer = infer_lsa_barrier;
  op.emit_cpu = emit_cpu_lsa_barrier;
  op.emit_cuda = emit_lsa_barrier_cuda;
  op.resources = needs_barrier;
  return op;
}

}  // namespace

std::vector<OpInfo> barrier_ops() { return {barrier_op(), lsa_barrier_op()}; }

}  // namespace tilewire

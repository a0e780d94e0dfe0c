#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/object.h"
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

std::vector<Type> infer_grid_barrier(const OpCall& call) {
  require_one_of(call, "team", {"lsa", "local"});
  return infer_lsa_barrier(call);
}

/// The planner of synchronisation puts a `__syncthreads` before and behind it where needed.
void emit_lsa_barrier_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("lsa_barrier.cuh");
  emitter.statement(fmt::format("barrier.sync<tw::Order::{}>({});", order_name(statement),
                                statement.integer("site")));
}

void emit_grid_barrier_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("grid_barrier.cuh");
  emitter.statement(
      fmt::format("{}.sync<tw::Order::{}>({});",
                  statement.text("team") == "local" ? "local_grid_barrier" : "grid_barrier",
                  order_name(statement), statement.integer("site")));
}

Resources needs_barrier(const Statement&) {
  Resources resources;
  resources.lane = resources.world_barrier = resources.waits = resources.two_sided = true;
  return resources;
}

std::string describe_lsa_barrier(const Statement& statement, const Program& program) {
  const bool is_world = program.lsa_size == program.world_size || statement.flag("world");
  return is_world ? "barrier(team=world)" : "barrier(team=lsa)";
}

std::string describe_grid_barrier(const Statement& statement, const Program& program) {
  const bool is_world = program.lsa_size == program.world_size;
  const bool is_local = statement.text("team") == "local";
  return fmt::format("barrier(team={}, scope=grid)", is_local   ? "local"
                                                     : is_world ? "world"
                                                                : "lsa");
}

void emit_cpu_lsa_barrier(const Statement& statement, CpuEmitter& emitter) {
  const CpuScalar site = emitter.scalars().integer(statement.integer("site"), DType::kU32);
  emitter.call_runtime("tilewire_lsa_barrier", {&site, 1});
}

Resources needs_grid_barrier(const Statement& statement) {
  Resources resources;
  resources.lane = resources.waits = resources.grid_barrier = true;
  resources.two_sided = statement.text("team") != "local";
  return resources;
}

void emit_cpu_grid_barrier(const Statement& statement, CpuEmitter& emitter) {
  const CpuScalar site = emitter.scalars().integer(statement.integer("site"), DType::kU32);
  emitter.call_runtime(statement.text("team") == "local" ? "tilewire_local_grid_barrier"
                                                         : "tilewire_lsa_grid_barrier",
                       {&site, 1});
}

OpInfo barrier_op() {
  OpInfo op;
  op.name = "barrier";
  op.summary =
      "The instances with one linear program id on all ranks of the team meet; with scope `grid`, "
      "all instances of all its ranks.";
  op.attributes = {
      {"team", AttributeSpec::Kind::kText, true, "`world`, `lsa`, `rail` or `local`"},
      {"scope", AttributeSpec::Kind::kText, true, "`instance` or `grid`"},
      {"order", AttributeSpec::Kind::kText, true, "`acq_rel`, `acquire`, `release` or `relaxed`"}};
  op.effect = Effect::kSynchronises;
  op.stage = Stage::kFrontend;
  op.infer = infer_barrier;
  return op;
}

OpInfo lsa_barrier_op() {
  OpInfo op;
  op.name = "lsa_barrier";
  op.summary = "A barrier between one instance of each rank of the LSA team, by stores and loads.";
  op.attributes = {{"order", AttributeSpec::Kind::kText, true, "as for `barrier`"},
                   {"world", AttributeSpec::Kind::kBool, false,
                    "behind a `network_barrier`: the two of them are one of the world"},
                   {"site", AttributeSpec::Kind::kInteger, true, "its number in hang reports"}};
  op.effect = Effect::kSynchronises;
  op.stage = Stage::kLowered;
  op.infer = infer_lsa_barrier;
  op.emit_cpu = emit_cpu_lsa_barrier;
  op.emit_cuda = emit_lsa_barrier_cuda;
  op.resources = needs_barrier;
  op.wait_site = describe_lsa_barrier;
  return op;
}

OpInfo grid_barrier_op() {
  OpInfo op;
  op.name = "grid_barrier";
  op.summary = "A barrier between all instances of this rank, or of each rank of the LSA team.";
  op.attributes = {{"team", AttributeSpec::Kind::kText, true, "`lsa` or `local`"},
                   {"order", AttributeSpec::Kind::kText, true, "as for `barrier`"},
                   {"site", AttributeSpec::Kind::kInteger, true, "its number in hang reports"}};
  op.effect = Effect::kSynchronises;
  op.stage = Stage::kLowered;
  op.infer = infer_grid_barrier;
  op.emit_cpu = emit_cpu_grid_barrier;
  op.emit_cuda = emit_grid_barrier_cuda;
  op.resources = needs_grid_barrier;
  op.wait_site = describe_grid_barrier;
  return op;
}

}  // namespace

std::vector<OpInfo> barrier_ops() { return {barrier_op(), lsa_barrier_op(), grid_barrier_op()}; }

}  // namespace tilewire

// Tasks: what a warp of its own does beside the rest of a program instance. On the CPU, a fiber.
#include "compiler/ops/task.h"

#include <algorithm>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/object_access.h"

namespace tilewire {
namespace {

std::vector<Type> infer_in_task(const OpCall&) { return {Type::scalar(DType::kBool)}; }
std::vector<Type> infer_nothing(const OpCall&) { return {}; }

void emit_in_task_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("task.cuh");
  emitter.define(statement.result(),
                 emitter.has_roles() ? "tw::is_task<kThreads, 2>()" : "tw::is_task<kThreads>()");
}

void emit_in_task_cpu(const Statement& statement, CpuEmitter& emitter) {
  emitter.define(statement.result(), emitter.in_task());
}

void emit_join_task_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("tw::join_task<kThreads>();");
}

void emit_join_task_cpu(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t site = statement.integer("site");
  emitter.call_reference(statement, "tilewire_join_task", {&site, 1});
}

std::string describe_join(const Statement&, const Program&) {
  return "the instance's end, before which its task must have ended";
}

OpInfo in_task_op() {
  OpInfo op;
  op.name = "in_task";
  op.summary =
      "Whether this is the instance's task: an `if` on it holds what a warp of its own does beside "
      "the rest.";
  op.infer = infer_in_task;
  op.emit_cuda = emit_in_task_cuda;
  op.emit_cpu = emit_in_task_cpu;
  return op;
}

OpInfo join_task_op() {
  OpInfo op;
  op.name = "join_task";
  op.summary = "The instance's task has ended, and so has the rest of it.";
  op.attributes = {kWaitSite};
  op.effect = Effect::kHidden;
  op.stage = Stage::kLowered;
  op.infer = infer_nothing;
  op.wait_site = describe_join;
  op.emit_cuda = emit_join_task_cuda;
  op.emit_cpu = emit_join_task_cpu;
  return op;
}

}  // namespace

bool is_task(const Statement& statement) { return statement.branches_on("in_task"); }

const Statement* find_task(const Program& program) {
  const Statement* found = nullptr;
  for_each_statement(program.body, [&found](const Statement& statement) {
    if (is_task(statement)) found = &statement;
  });
  return found;
}

bool has_beside_task(const Region& region, std::string_view op) {
  return std::ranges::any_of(region.statements, [op](const auto& statement) {
    if (statement->is(op)) return true;
    return !is_task(*statement) &&
           std::ranges::any_of(statement->regions,
                               [op](const Region& inner) { return has_beside_task(inner, op); });
  });
}

std::vector<OpInfo> task_ops() { return {in_task_op(), join_task_op()}; }

}  // namespace tilewire

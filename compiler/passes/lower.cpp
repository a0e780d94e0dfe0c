#include "compiler/passes/lower.h"

#include <fmt/format.h>

#include <utility>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/passes/arrivals.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/task_apart.h"
#include "compiler/support/environment.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Ops that only frontends make are gone once views are lowered.
void check_is_lowered(const Program& program) {
  for_each_statement(program.body, [](const Statement& statement) {
    if (statement.kind == StatementKind::kOp && statement.op->stage == Stage::kFrontend) {
      throw InternalError(fmt::format("no pass lowered {}", statement.op->name),
                          statement.location);
    }
  });
}

/// A pass over all of a program but its task.
template <typename Pass>
Program beside_task(Program program, const Pass& pass) {
  TaskApart task(program);
  program = pass(std::move(program));
  task.give_back(program);
  return program;
}

}  // namespace

Program lower(Program program, const Target& target, const PassObserver& observe) {
  const auto done = [&observe](std::string_view pass, const Program& result) {
    verify(result);
    if (observe) observe(pass, result);
  };
  number_arrivals(program);  // before loops over ranks are unrolled
  program = specialise(std::move(program), target);
  done("specialise", program);
  program = choose_inline(std::move(program), target);
  done("choose_inline", program);
  program = canonicalise(std::move(program));
  done("canonicalise", program);
  program = split_tasks(std::move(program));
  done("split_tasks", program);
  program = choose_multimem(std::move(program), target);
  done("choose_multimem", program);
  const bool is_checked = !target.is_cuda() || Environment::get().check;
  if (is_checked) {
    program = check_ranks(std::move(program), target);
    check_places(program);
  }
  done("check_ranks", program);
  program = legalise_communication(std::move(program), target);
  check_tasks_reach(program);
  done("legalise_communication", program);
  program = insert_launch_states(std::move(program), target);
  done("insert_launch_states", program);
  program = lower_stacks(std::move(program));
  done("lower_stacks", program);
  program = beside_task(std::move(program),
                        [&](Program rest) { return stage_products(std::move(rest), target); });
  done("stage_products", program);
  program = lower_views(std::move(program), is_checked);
  done("lower_views", program);
  check_is_lowered(program);
  program = canonicalise(std::move(program));
  done("canonicalise", program);
  program = elide_releases(std::move(program));
  done("elide_releases", program);
  program = drain_copies(std::move(program));
  done("drain_copies", program);
  program = beside_task(std::move(program),
                        [&](Program rest) { return fill_ahead(std::move(rest), target); });
  done("fill_ahead", program);
  program = infer_layouts(std::move(program), target);
  done("infer_layouts", program);
  program = fence_aliases(std::move(program));
  done("fence_aliases", program);
  program = hoist_invariants(std::move(program));
  done("hoist_invariants", program);
  program = beside_task(std::move(program),
                        [&](Program rest) { return keep_channel_counts(std::move(rest), target); });
  done("keep_channel_counts", program);
  program = beside_task(std::move(program), share_operands);
  done("share_operands", program);
  program = beside_task(std::move(program), place_waits);
  done("place_waits", program);
  program = beside_task(std::move(program), split_roles);
  done("split_roles", program);
  program = split_mover(std::move(program));
  done("split_mover", program);
  program = mark_kept(std::move(program));
  done("mark_kept", program);
  return program;
}

}  // namespace tilewire

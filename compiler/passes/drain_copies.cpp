#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/network.h"
#include "compiler/ops/op.h"
#include "compiler/passes/forward_flow.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// Finds the statements before which bulk copies must be over: what releases them, and what touches
/// memory that they may be writing: `Values` are those parameters.
class Drains {
 public:
  explicit Drains(const Program& program) : program_(program) {
    flow_forward(program.body, {}, [this](const Statement& op, Values written) {
      return step_op(op, std::move(written));
    });
  }

  bool is_before(const Statement& statement) const { return before_.contains(&statement); }

 private:
  Values step_op(const Statement& op, Values written) {
    if (op.is("view_copy")) {  // finds out at run time whether it meets an earlier one
      if (op.flag("bulk")) written.insert(parameter_behind(op.operands.at(0)));
      return written;
    }
    if (written.empty() || !needs_drain(op, written)) return written;
    before_.insert(&op);
    return {};
  }

  bool needs_drain(const Statement& op, const Values& written) const {
    switch (op.op->effect) {
      case Effect::kPure:
      case Effect::kReports:
      case Effect::kHidden:
        return false;
      case Effect::kSynchronises:
        return op.op->meeting.tells &&
               (!op.has("order") || op.text("order") == "acq_rel" || op.text("order") == "release");
      case Effect::kReads:
        return !op.is("tile_load") || may_meet(op, written);
      case Effect::kWrites:
        if (op.is("tile_store")) return may_meet(op, written);
        // Of what goes over the network, this rank's side alone may meet them.
        if (op.is("network_store")) return false;
        if (op.is("network_put")) return may_be_one(NetworkCopy::of(op).from, written);
        if (op.is("network_get")) return may_be_one(NetworkCopy::of(op).to, written);
        return !op.is("tile_atomic") || Atomic::of(op).releases() || may_meet(op, written);
    }
    return true;
  }

  bool may_meet(const Statement& access, const Values& written) const {
    return may_be_one(parameter_behind(access.operands.at(0)), written);
  }

  bool may_be_one(const Value* base, const Values& written) const {
    return std::ranges::any_of(
        written, [&](const Value* other) { return may_share_memory(program_, base, other); });
  }

  const Program& program_;
  std::set<const Statement*> before_;
};

void insert_drains(Program& program, Region& region, const Drains& drains) {
  Statements old = std::exchange(region.statements, {});
  for (auto& statement : old) {
    if (drains.is_before(*statement)) {
      region.statements.push_back(program.new_op("drain_copies", {}, {}, statement->location));
    }
    for (Region& inner : statement->regions) insert_drains(program, inner, drains);
    region.statements.push_back(std::move(statement));
  }
}

}  // namespace

Program drain_copies(Program program) {
  const Drains drains(program);
  insert_drains(program, program.body, drains);
  return program;
}

}  // namespace tilewire

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/network.h"
#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

using Parameters = std::set<const Value*>;

/// Finds the statements before which bulk copies must be over: what releases them, and what touches
/// memory that they may be writing.
class Drains {
 public:
  explicit Drains(const Program& program) : program_(program) { flow(program.body, {}); }

  bool is_before(const Statement& statement) const { return before_.contains(&statement); }

 private:
  /// Parameters that may be being written at the region's start → at its end.
  Parameters flow(const Region& region, Parameters written) {
    for (const auto& statement : region.statements) {
      written = step(*statement, std::move(written));
    }
    return written;
  }

  Parameters step(const Statement& statement, Parameters written) {
    switch (statement.kind) {
      case StatementKind::kOp:
        return step_op(statement, std::move(written));
      case StatementKind::kFor:
      case StatementKind::kWhile:
        return step_loop(statement, std::move(written));
      case StatementKind::kIf: {
        Parameters joined = flow(statement.regions.at(0), written);
        joined.merge(flow(statement.regions.at(1), std::move(written)));
        return joined;
      }
      case StatementKind::kYield:
      case StatementKind::kReturn:
        return written;
    }
    return written;
  }

  Parameters step_loop(const Statement& loop, Parameters written) {
    while (true) {
      Parameters next = written;
      Parameters end = written;
      for (const Region& region : loop.regions) {
        end = flow(region, std::move(end));
        next.insert(end.begin(), end.end());
      }
      if (next == written) return written;
      written = std::move(next);
    }
  }

  Parameters step_op(const Statement& op, Parameters written) {
    if (op.is("view_copy")) {  // finds out at run time whether it meets an earlier one
      if (op.flag("bulk")) written.insert(parameter_behind(op.operands.at(0)));
      return written;
    }
    if (written.empty() || !needs_drain(op, written)) return written;
    before_.insert(&op);
    return {};
  }

  bool needs_drain(const Statement& op, const Parameters& written) const {
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

  bool may_meet(const Statement& access, const Parameters& written) const {
    return may_be_one(parameter_behind(access.operands.at(0)), written);
  }

  bool may_be_one(const Value* base, const Parameters& written) const {
    return std::ranges::any_of(written,
                               [&](const Value* other) { return may_be_one(base, other); });
  }

  /// Whether two parameters may be the same memory: no tensor has two shapes.
  bool may_be_one(const Value* a, const Value* b) const {
    const Parameter* of_a = parameter(a);
    const Parameter* of_b = parameter(b);
    if (a == b || of_a == nullptr || of_b == nullptr) return true;
    return std::ranges::equal(of_a->shape, of_b->shape, [](const Dimension& x, const Dimension& y) {
      return x.size == y.size || x.size == kDynamic || y.size == kDynamic;
    });
  }

  const Parameter* parameter(const Value* value) const {
    for (const Parameter& each : program_.parameters) {
      if (each.value == value) return &each;
    }
    return nullptr;
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

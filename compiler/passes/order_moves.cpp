#include "compiler/passes/order_moves.h"

#include <algorithm>
#include <utility>

#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/mover.h"
#include "compiler/ops/op.h"
#include "compiler/passes/program_slice.h"

namespace tilewire {

bool tells(const Statement& op) { return op.is("flag_set") || op.is("semaphore_signal"); }

MoveOrder::MoveOrder(const Program& program, const Region& consumers)
    : program_(program), consumers_(consumers) {
  flow_forward(consumers, {}, [this](const Statement& op, Values state) {
    decisions_.erase(&op);  // what the last round of a loop says
    return step(op, std::move(state));
  });
}

bool MoveOrder::decides(const Statement& op, Decision decision) const {
  const auto found = decisions_.find(&op);
  return found != decisions_.end() && found->second == decision;
}

/// `state`: which memory the mover may still be writing, and null where the consumers have done
/// something since they last met it.
Values MoveOrder::step(const Statement& op, Values state) {
  if (op.is("put_tile") || (is_moved(op) && op.is("tile_load"))) {
    state.erase(nullptr);
    return state;
  }
  if (is_moved(op)) {
    state.insert(parameter_behind(op.operands.at(0)));
    return state;
  }
  const bool is_storing = state.size() > state.count(nullptr);
  if (is_storing && tells(op) && !state.contains(nullptr) && can_be_movers(op)) {
    decisions_[&op] = Decision::kMover;
    return state;
  }
  if (is_storing && needs_await(op, state)) {
    decisions_[&op] = Decision::kAwaits;
    state.clear();
  }
  // An assertion too: the mover would tell before the consumers have seen that it fails.
  const bool is_quiet = effect_of(op) == Effect::kPure || op.is("flag_wait");
  if (!is_quiet) state.insert(nullptr);
  return state;
}

bool MoveOrder::needs_await(const Statement& op, const Values& state) const {
  switch (effect_of(op)) {
    case Effect::kPure:
    case Effect::kReports:
      return false;
    case Effect::kHidden:
      return op.is("leave") || op.is("hand_over");
    case Effect::kSynchronises:
      return op.op->meeting.tells;
    case Effect::kReads:
      return !op.is("tile_load") || may_meet(op, state);
    case Effect::kWrites:
      if (op.is("tile_store")) return may_meet(op, state);
      return !op.is("tile_atomic") || Atomic::of(op).releases() || may_meet(op, state);
  }
  return true;
}

bool MoveOrder::may_meet(const Statement& access, const Values& state) const {
  const Value* parameter = parameter_behind(access.operands.at(0));
  return std::ranges::any_of(state, [&](const Value* other) {
    return other != nullptr && may_share_memory(program_, parameter, other);
  });
}

bool MoveOrder::can_be_movers(const Statement& op) const {
  const auto needed = slice_of(consumers_, [&op](const Statement& each) { return &each == &op; });
  return std::ranges::all_of(needed, [&op](const Statement* each) {
    return each == &op || each->kind != StatementKind::kOp || each->op->effect == Effect::kPure;
  });
}

}  // namespace tilewire

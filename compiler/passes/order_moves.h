#pragma once

#include <map>

#include "compiler/ir/program.h"
#include "compiler/passes/forward_flow.h"

namespace tilewire {

/// Whether it tells others of what was done before.
bool tells(const Statement& op);

/// Who does what else depends on the mover's stores. What tells of them is the mover's too where
/// the consumers have done nothing else since they last met it, and it can find out by itself when
/// and whom to tell; all else awaits them.
class MoveOrder {
 public:
  /// `consumers`: with `put_tile` where they hand tiles over, and what is moved marked.
  MoveOrder(const Program& program, const Region& consumers);

  bool is_movers(const Statement& op) const { return decides(op, Decision::kMover); }
  bool awaits(const Statement& op) const { return decides(op, Decision::kAwaits); }

 private:
  enum class Decision { kMover, kAwaits };

  bool decides(const Statement& op, Decision decision) const;
  Values step(const Statement& op, Values state);
  bool needs_await(const Statement& op, const Values& state) const;
  bool may_meet(const Statement& access, const Values& state) const;
  bool can_be_movers(const Statement& op) const;

  const Program& program_;
  const Region& consumers_;
  std::map<const Statement*, Decision> decisions_;
};

}  // namespace tilewire

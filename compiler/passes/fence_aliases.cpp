#include <set>
#include <unordered_set>
#include <utility>

#include "compiler/codegen/cuda/multimem.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/multimem.h"
#include "compiler/ops/op.h"
#include "compiler/ops/task.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// What no fence has covered yet. Reads are over when the CTA has met, as everywhere.
struct Pending {
  bool plain = false;      ///< writes through ranks' own addresses, done here or heard of
  bool multicast = false;  ///< writes through multicast addresses, done here
  bool any_plain = false;  ///< such a plain write since the launch began, of any memory

  Pending operator|(Pending other) const {
    return {plain || other.plain, multicast || other.multicast, any_plain || other.any_plain};
  }
};

bool is_barrier(const Statement& statement) {
  return statement.is("lsa_barrier") || statement.is("grid_barrier");
}

bool has_order(const Statement& op, std::string_view half) {
  return !op.has("order") || op.text("order") == "acq_rel" || op.text("order") == half;
}

/// An access by instructions for multicast addresses.
bool is_multicast_access(const Statement& op) {
  return is_multimem(op) && !writes_only_single_copies(op);
}

/// An access through an address that is a rank's own. Memory that nobody writes doesn't count.
bool is_plain_access(const Statement& op) {
  if (is_multimem(op)) return writes_only_single_copies(op);
  if (op.is("tile_load")) return !op.flag("constant");
  for (const char* name :
       {"tile_store", "tile_atomic", "view_copy", "operand_load", "network_put", "network_get"}) {
    if (op.is(name)) return true;
  }
  return false;
}

bool is_plain_write(const Statement& op) {
  return is_plain_access(op) && op.op->effect == Effect::kWrites;
}

/// Follows each path through the program. Two accesses through different kinds of address are in no
/// order, whatever stands between them, unless a fence of aliases does; the end of a kernel is one.
/// The fence stands at the side that uses multicast addresses:
///
/// - in front of its access, where plain writes came before it, this instance's or others' that it
///   has heard of;
/// - behind its writes: before this instance goes on to plain accesses, or tells others who may.
///
/// At a barrier, others are instances of this same program. Where all barriers stand outside of
/// loops and branches, they have come the same way.
class AliasFences {
 public:
  explicit AliasFences(const Program& program) {
    for (std::size_t i = 0; i < program.facts.local_only.size(); ++i) {
      if (program.facts.local_only[i]) local_only_.insert(program.parameters[i].value);
    }
    bool has_multimem = false;
    for_each_statement(program.body, [&](const Statement& statement) {
      if (statement.kind != StatementKind::kOp) return;
      has_multimem |= is_multicast_access(statement);
      has_plain_access_ |= is_plain_access(statement);
      has_plain_write_ |= is_plain_write(statement);
      num_barriers_ += is_barrier(statement) ? 1 : 0;
    });
    if (!has_multimem) return;
    find_plain_accesses_behind(program.body);
    flow(program.body, {});
  }

  bool is_before(const Statement& statement) const { return before_.contains(&statement); }

 private:
  /// Of barriers at the top: those that plain accesses stand behind.
  void find_plain_accesses_behind(const Region& body) {
    std::size_t num_at_top = 0;
    bool is_behind = false;
    for (auto each = body.statements.rbegin(); each != body.statements.rend(); ++each) {
      const Statement& statement = **each;
      if (statement.kind == StatementKind::kOp && is_barrier(statement)) {
        ++num_at_top;
        if (is_behind) accessed_behind_.insert(&statement);
      }
      is_behind |= holds(statement, is_plain_access);
    }
    are_barriers_at_top_ = num_at_top == num_barriers_;
  }

  static bool holds(const Statement& statement, bool (*what)(const Statement&)) {
    if (statement.kind == StatementKind::kOp) return what(statement);
    bool found = false;
    for (const Region& region : statement.regions) {
      for_each_statement(region, [&](const Statement& inner) {
        found |= inner.kind == StatementKind::kOp && what(inner);
      });
    }
    return found;
  }

  Pending flow(const Region& region, Pending pending) {
    for (const auto& statement : region.statements) pending = step(*statement, pending);
    return pending;
  }

  Pending step(const Statement& statement, Pending pending) {
    switch (statement.kind) {
      case StatementKind::kOp:
        return step_op(statement, pending);
      case StatementKind::kFor:
      case StatementKind::kWhile:
        // Once in front, and not in each iteration.
        if ((pending.plain && holds(statement, is_multicast_access)) ||
            (pending.multicast && holds(statement, is_plain_access))) {
          fence(statement, pending);
        }
        // What one iteration leaves pending, the next one finds: twice through is a fixed point.
        for (int i = 0; i < 2; ++i) {
          for (const Region& region : statement.regions) pending = pending | flow(region, pending);
        }
        return pending;
      case StatementKind::kIf: {
        const Pending after_then = flow(statement.regions.at(0), pending);
        if (is_task(statement)) return pending;  // it ends there
        return flow(statement.regions.at(1), pending) | after_then;
      }
      case StatementKind::kYield:
      case StatementKind::kReturn:
        return pending;
    }
    return {true, true, true};
  }

  Pending step_op(const Statement& op, Pending pending) {
    if (is_multicast_access(op)) {
      if (pending.plain) fence(op, pending);
      pending.multicast |= op.op->effect == Effect::kWrites;
      pending.plain |= writes_single_copies(op);
      return pending;
    }
    if (is_plain_access(op)) return step_access(op, pending);
    if (op.op->effect != Effect::kSynchronises) return pending;
    const bool tells = op.op->meeting.tells && has_order(op, "release");
    const bool is_seen = !is_barrier(op) || (are_barriers_at_top_ ? accessed_behind_.contains(&op)
                                                                  : has_plain_access_);
    if (pending.multicast && tells && is_seen) fence(op, pending);
    const bool hears = op.op->meeting.waits && op.op->meeting.learns && has_order(op, "acquire");
    const bool is_written =
        !is_barrier(op) || (are_barriers_at_top_ ? pending.any_plain : has_plain_write_);
    pending.plain |= hears && is_written;
    return pending;
  }

  Pending step_access(const Statement& op, Pending pending) {
    pending.any_plain |= is_plain_write(op);
    if (op.is("tile_atomic") && Atomic::of(op).acquires()) pending.plain = true;
    if (is_local(op)) return pending;
    if (pending.multicast) fence(op, pending);
    pending.plain |= is_plain_write(op);
    return pending;
  }

  /// Whether it is an access to memory that is in no window.
  bool is_local(const Statement& op) const {
    for (const char* name : {"tile_load", "tile_store", "tile_atomic"}) {
      if (op.is(name)) return local_only_.contains(parameter_behind(op.operands.at(0)));
    }
    return op.is("operand_load") && local_only_.contains(op.operands.at(0));
  }

  void fence(const Statement& statement, Pending& pending) {
    before_.insert(&statement);
    pending.plain = pending.multicast = false;
  }

  std::unordered_set<const Value*> local_only_;
  bool has_plain_access_ = false;
  bool has_plain_write_ = false;
  std::size_t num_barriers_ = 0;
  bool are_barriers_at_top_ = false;
  std::set<const Statement*> accessed_behind_;
  std::set<const Statement*> before_;
};

void insert_fences(Program& program, Region& region, const AliasFences& fences) {
  Statements old = std::exchange(region.statements, {});
  for (auto& statement : old) {
    if (fences.is_before(*statement)) {
      region.statements.push_back(program.new_op("fence_aliases", {}, {}, statement->location));
    }
    for (Region& inner : statement->regions) insert_fences(program, inner, fences);
    region.statements.push_back(std::move(statement));
  }
}

}  // namespace

Program fence_aliases(Program program) {
  const AliasFences fences(program);
  insert_fences(program, program.body, fences);
  return program;
}

}  // namespace tilewire

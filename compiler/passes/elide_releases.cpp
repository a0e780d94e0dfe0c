#include <map>
#include <unordered_set>

#include "compiler/ops/op.h"
#include "compiler/ops/task.h"
#include "compiler/passes/passes.h"

namespace tilewire {
namespace {

/// What an order without its release is called.
constexpr const char* without_release(std::string_view order) {
  return order == "acq_rel" ? "acquire" : "relaxed";
}

bool is_barrier(const Statement& statement) {
  return statement.is("lsa_barrier") || statement.is("grid_barrier") ||
         statement.is("network_barrier") || statement.is("network_grid_barrier");
}

/// A lowered op that tells others how far this instance has come, and waits for nobody.
bool is_signal(const Statement& statement) {
  return statement.kind == StatementKind::kOp && statement.op->effect == Effect::kSynchronises &&
         statement.op->meeting.tells && !statement.op->meeting.waits;
}

bool releases(const Statement& op) {
  return op.text("order") == "acq_rel" || op.text("order") == "release";
}

bool acquires(const Statement& barrier) {
  return barrier.text("order") == "acq_rel" || barrier.text("order") == "acquire";
}

/// What this instance may have done, or have heard of, that no release has covered yet.
struct Pending {
  bool to_peers = false;    ///< for instances of other ranks
  bool to_grid = false;     ///< for the other instances of this rank
  bool by_signals = false;  ///< for whoever waits for a signal: the thread that sends them all has
                            ///< released nothing since
  bool puts = false;        ///< over the network, whose own order covers them

  Pending operator|(Pending other) const {
    return {to_peers || other.to_peers, to_grid || other.to_grid, by_signals || other.by_signals,
            puts || other.puts};
  }
};

/// Follows each path through the program and asks at each barrier and signal whether this instance
/// may have done anything since its last release that a release would have to cover.
///
/// What a barrier of all instances of all ranks acquired, all have acquired. After one between a
/// part of them, this instance must pass on to the rest what it heard there.
class UnreleasedWork {
 public:
  explicit UnreleasedWork(const Program& program)
      : has_far_ranks_(program.lsa_size < program.world_size) {
    for (std::size_t i = 0; i < program.facts.local_only.size(); ++i) {
      if (program.facts.local_only[i]) local_only_.insert(program.parameters[i].value);
    }
    flow(program.body, {});
  }

  bool is_before(const Statement& release) const { return is_before_.at(&release); }

 private:
  /// `pending` at the region's start → at its end.
  Pending flow(const Region& region, Pending pending) {
    for (const auto& statement : region.statements) pending = step(*statement, pending);
    return pending;
  }

  Pending step(const Statement& statement, Pending pending) {
    switch (statement.kind) {
      case StatementKind::kOp:
        return step_op(statement, pending);
      case StatementKind::kFor:
        // What one iteration leaves pending, the next one finds: twice through is a fixed point.
        for (int i = 0; i < 2; ++i) pending = pending | flow(statement.regions.at(0), pending);
        return pending;
      case StatementKind::kWhile: {
        // It ends behind its condition.
        Pending at_end = pending;
        for (int i = 0; i < 2; ++i) {
          at_end = flow(statement.regions.at(0), pending);
          pending = pending | flow(statement.regions.at(1), at_end);
        }
        return at_end | flow(statement.regions.at(0), pending);
      }
      case StatementKind::kIf: {
        const Pending after_then = flow(statement.regions.at(0), pending);
        if (is_task(statement)) return pending;  // it ends there
        return flow(statement.regions.at(1), pending) | after_then;
      }
      case StatementKind::kYield:
      case StatementKind::kReturn:
        return pending;
    }
    return {true, true, true, true};
  }

  Pending step_op(const Statement& op, Pending pending) {
    if (is_barrier(op)) return step_barrier(op, pending);
    if (is_signal(op)) return step_signal(op, pending);
    const Effect effect = op.op->effect;
    const bool only_looks = effect == Effect::kPure || effect == Effect::kReads ||
                            effect == Effect::kReports || effect == Effect::kHidden;
    const bool learns = effect != Effect::kSynchronises || op.op->meeting.learns;
    if (only_looks || !learns) return pending;
    const bool is_put = op.is("network_put") || op.is("network_store") || op.is("network_get");
    return {pending.to_peers || !is_local_store(op), true, true, pending.puts || is_put};
  }

  Pending step_barrier(const Statement& op, Pending pending) {
    const bool is_grid = op.is("grid_barrier") || op.is("network_grid_barrier");
    const bool is_local = is_grid && op.text("team") == "local";
    const bool is_network = op.is("network_barrier") || op.is("network_grid_barrier");
    if (releases(op)) {
      is_before_[&op] |= (pending.to_peers && !is_local) || (pending.to_grid && is_grid) ||
                         (pending.puts && is_network);
      const bool is_of_part = is_network && op.text("team") == "rail";
      pending = {pending.to_peers && (is_local || is_of_part), pending.to_grid && !is_grid,
                 pending.by_signals && is_local, pending.puts && (!is_network || is_of_part)};
    }
    if (acquires(op))
      pending = pending | Pending{is_local || is_of_part_of_world(op), !is_grid, true};
    return pending;
  }

  /// A barrier after which others of the world have not heard what this instance has.
  bool is_of_part_of_world(const Statement& barrier) const {
    if (!has_far_ranks_ || barrier.flag("world")) return false;
    return !barrier.is("network_grid_barrier") || barrier.text("team") != "world";
  }

  /// Its release is one thread's, which barriers of several threads can't rely on.
  Pending step_signal(const Statement& op, Pending pending) {
    if (!releases(op)) return pending;
    is_before_[&op] |= pending.by_signals;
    const bool is_for_peers = op.is("network_signal") || op.text("told") == "system";
    pending.by_signals = pending.by_signals && !is_for_peers;
    return pending;
  }

  /// A plain store that no peer can see. Anything else that isn't a read may also have acquired
  /// what other instances wrote, which a release passes on.
  bool is_local_store(const Statement& op) const {
    if (!op.is("tile_store")) return false;
    const Statement* address = op.operands.at(0)->definition;
    return address != nullptr && address->is("address") &&
           local_only_.contains(address->operands.at(0));
  }

  bool has_far_ranks_;
  std::unordered_set<const Value*> local_only_;
  std::map<const Statement*, bool> is_before_;
};

void weaken(Region& region, const UnreleasedWork& unreleased) {
  for (auto& statement : region.statements) {
    const bool tells = is_barrier(*statement) || is_signal(*statement);
    if (tells && releases(*statement) && !unreleased.is_before(*statement)) {
      statement->attributes["order"] = std::string(without_release(statement->text("order")));
    }
    for (Region& inner : statement->regions) weaken(inner, unreleased);
  }
}

}  // namespace

Program elide_releases(Program program) {
  const UnreleasedWork unreleased(program);
  weaken(program.body, unreleased);
  return program;
}

}  // namespace tilewire

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/mover.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/find_moves.h"
#include "compiler/passes/forward_flow.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/program_slice.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

constexpr int kFewestStages = 3;  // of the ring, beside a moved tile: two don't hide latencies

bool tells(const Statement& op) { return op.is("flag_set") || op.is("semaphore_signal"); }

/// Follows what the mover may still be storing, and whether the consumers have done something since
/// they last met it (null). What tells of its stores is the mover's too where nothing else stands
/// before; what else depends on them awaits them.
class Orderer {
 public:
  Orderer(const Program& program, const Region& consumers) : program_(program) {
    flow_forward(consumers, {}, [this](const Statement& op, Values state) {
      decisions_.erase(&op);
      return step(op, std::move(state));
    });
  }

  bool is_movers(const Statement& op) const { return decides(op, Decision::kMover); }
  bool awaits(const Statement& op) const { return decides(op, Decision::kAwaits); }

 private:
  enum class Decision { kMover, kAwaits };

  bool decides(const Statement& op, Decision decision) const {
    const auto found = decisions_.find(&op);
    return found != decisions_.end() && found->second == decision;
  }

  Values step(const Statement& op, Values state) {
    if (op.is("put_tile") || (is_moved(op) && op.is("tile_load"))) {
      state.erase(nullptr);
      return state;
    }
    if (is_moved(op)) {
      state.insert(parameter_behind(op.operands.at(0)));
      return state;
    }
    const bool is_storing = state.size() > state.count(nullptr);
    if (is_storing && tells(op) && !state.contains(nullptr)) {
      decisions_[&op] = Decision::kMover;
      return state;
    }
    if (is_storing && needs_await(op, state)) {
      decisions_[&op] = Decision::kAwaits;
      state.clear();
    }
    const Effect effect = effect_of(op);
    const bool is_quiet = effect == Effect::kPure || effect == Effect::kReports ||
                          effect == Effect::kHidden || op.is("flag_wait");
    if (!is_quiet) state.insert(nullptr);
    return state;
  }

  bool needs_await(const Statement& op, const Values& state) const {
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

  bool may_meet(const Statement& access, const Values& state) const {
    const Value* parameter = parameter_behind(access.operands.at(0));
    return std::ranges::any_of(state, [&](const Value* other) {
      return other != nullptr && may_share_memory(program_, parameter, other);
    });
  }

  const Program& program_;
  std::map<const Statement*, Decision> decisions_;
};

class Splitter {
 public:
  Splitter(Program& program, Statement& roles) : program_(program), roles_(roles) {}

  void run() {
    Region& consumers = roles_.regions.at(1);
    insert_puts(consumers);
    const Orderer order(program_, consumers);
    insert_awaits(consumers, order);
    Region mover = clone_of(consumers);
    make_movers(mover);
    keep_slice(mover, is_movers_op);
    std::erase_if(mover.statements,
                  [](const auto& each) { return each->kind == StatementKind::kYield; });
    mover.statements.push_back(yield());
    make_consumers(consumers);
    add_branch(std::move(mover));
    remove_dead_code(program_);
  }

  /// Whether a mover can find out by itself what to do and when.
  static bool is_possible(Program& program, const Region& consumers) {
    Region trial;
    Replacements mapping;
    trial.statements = clone_statements(program, consumers, mapping);
    Splitter(program, *program.body.statements.front()).make_movers(trial);
    keep_slice(trial, is_movers_op);
    bool is_possible = true;
    for_each_statement(trial, [&](const Statement& statement) {
      if (statement.kind != StatementKind::kOp || is_movers_op(statement)) return;
      is_possible &= statement.op->effect == Effect::kPure;
    });
    return is_possible;
  }

 private:
  static std::unique_ptr<Statement> yield() {
    auto statement = std::make_unique<Statement>();
    statement->kind = StatementKind::kYield;
    return statement;
  }

  Region clone_of(const Region& region) {
    Region copy;
    Replacements mapping;
    copy.statements = clone_statements(program_, region, mapping);
    return copy;
  }

  /// A tile that goes to several places is put once.
  void insert_puts(Region& region) {
    Statements old = std::exchange(region.statements, {});
    const Value* put = nullptr;
    for (auto& statement : old) {
      for (Region& inner : statement->regions) insert_puts(inner);
      const bool is_store = statement->is("tile_store") && is_moved(*statement);
      if (is_store && statement->operands[1] != put) {
        put = statement->operands[1];
        region.statements.push_back(
            program_.new_op("put_tile", {statement->operands[1]}, {}, statement->location));
      }
      const bool is_pure =
          statement->kind == StatementKind::kOp && statement->op->effect == Effect::kPure;
      if (!is_store && !is_pure && !tells(*statement)) put = nullptr;
      region.statements.push_back(std::move(statement));
    }
  }

  void insert_awaits(Region& region, const Orderer& order) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      if (order.awaits(*statement)) {
        region.statements.push_back(program_.new_op("await_moves", {}, {}, statement->location));
      }
      if (order.is_movers(*statement)) statement->attributes["mover"] = true;
      for (Region& inner : statement->regions) insert_awaits(inner, order);
      region.statements.push_back(std::move(statement));
    }
  }

  static bool is_movers_op(const Statement& op) {
    for (const char* name :
         {"receive_tile", "drain_tile", "fetch_tile", "finish_moves", "settle_moves"}) {
      if (op.is(name)) return true;
    }
    return op.kind == StatementKind::kOp && op.flag("mover");
  }

  /// The consumers' program as the mover runs it.
  void make_movers(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) make_movers(inner);
      if (tells(*statement) && statement->flag("mover")) {
        region.statements.push_back(program_.new_op("settle_moves", {}, {}, statement->location));
      }
      if (statement->is("flag_wait")) statement->attributes["mover"] = true;
      region.statements.push_back(as_movers(std::move(statement)));
    }
  }

  std::unique_ptr<Statement> as_movers(std::unique_ptr<Statement> statement) {
    const SourceLocation& location = statement->location;
    if (statement->is("put_tile")) return program_.new_op("receive_tile", {}, {}, location);
    if (statement->is("await_moves")) return program_.new_op("finish_moves", {}, {}, location);
    if (!is_moved(*statement)) return statement;
    const bool is_store = statement->is("tile_store");
    auto operands = statement->operands;
    if (is_store) operands.erase(operands.begin() + 1);
    Attributes attributes = statement->attributes;
    attributes.erase("moved");
    auto made = program_.new_op(is_store ? "drain_tile" : "fetch_tile", std::move(operands),
                                std::move(attributes), location);
    kept_.push_back(std::move(statement));
    return made;
  }

  /// What is left for the consumers to do. They learn of a wait that a tile stands behind when they
  /// take that.
  void make_consumers(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (std::size_t i = 0; i < old.size(); ++i) {
      Statement& statement = *old[i];
      for (Region& inner : statement.regions) make_consumers(inner);
      replaced_.resolve_all(statement.operands);
      Inserter insert(program_, region.statements, statement.location);
      const bool is_left_out = (tells(statement) && statement.flag("mover")) ||
                               (statement.is("flag_wait") && is_learned_behind(old, i)) ||
                               is_moved(statement);
      if (is_moved(statement) && statement.is("tile_load")) {
        const Type type = statement.result()->type;
        Value* taken = insert.op("take_tile", {}, {{"shape", type.shape}, {"dtype", type.dtype}});
        taken->type.layout = type.layout;
        taken->name = statement.result()->name;
        replaced_.replace(statement.result(), taken);
      }
      if (is_left_out) {
        kept_.push_back(std::move(old[i]));
      } else {
        insert.append(std::move(old[i]));
      }
    }
  }

  /// Whether the next thing behind statement `i` that isn't pure is to take a tile.
  static bool is_learned_behind(const Statements& statements, std::size_t i) {
    for (++i; i < statements.size(); ++i) {
      const Statement& next = *statements[i];
      if (next.kind != StatementKind::kOp) return false;
      if (next.op->effect != Effect::kPure) return next.is("tile_load") && is_moved(next);
    }
    return false;
  }

  /// In front of the producer's own program.
  void add_branch(Region mover) {
    Statements& producer = roles_.regions.at(0).statements;
    Statements before = std::exchange(producer, {});
    Inserter insert(program_, producer, {});
    auto branch = std::make_unique<Statement>();
    branch->kind = StatementKind::kIf;
    branch->operands = {insert.op("is_mover", {})};
    branch->regions.push_back(std::move(mover));
    branch->regions.emplace_back().statements.push_back(yield());
    insert.append(std::move(branch));
    std::ranges::move(before, std::back_inserter(producer));
  }

  Program& program_;
  Statement& roles_;
  Replacements replaced_;
  Statements kept_;  ///< so that no new statement takes their address
};

void mark(const Moves& moves, bool are_moved) {
  for (const auto* list : {&moves.stores, &moves.loads}) {
    for (Statement* op : *list) {
      if (are_moved) {
        op->attributes["moved"] = true;
      } else {
        op->attributes.erase("moved");
      }
    }
  }
}

}  // namespace

Program split_mover(Program program) {
  const int stages = plan_staging(program).num_stages;
  if (stages == 0) return program;
  for (auto& roles : program.body.statements) {
    const Statement* asked =
        roles->kind == StatementKind::kIf ? roles->operands.at(0)->definition : nullptr;
    if (asked == nullptr || !asked->is("is_producer")) continue;
    const Moves moves = find_moves(program, roles->regions.at(1));
    if (moves.stores.empty()) return program;
    mark(moves, true);
    const bool has_room = plan_staging(program).num_stages >= std::min(stages, kFewestStages);
    if (has_room && Splitter::is_possible(program, roles->regions.at(1))) {
      Splitter(program, *roles).run();
    } else {
      mark(moves, false);
    }
    break;
  }
  return program;
}

}  // namespace tilewire

#include <algorithm>
#include <iterator>
#include <memory>
#include <ranges>
#include <utility>

#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/mover.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/find_moves.h"
#include "compiler/passes/order_moves.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/program_slice.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

constexpr int kFewestStages = 3;  // of the ring, beside a moved tile: two don't hide latencies

/// Whether two stores of a tile begin at the same element, at whatever ranks, and write the same
/// part of it. Those that don't may write different elements to one place, and so in turn.
bool go_together(const Statement& a, const Statement& b) {
  const Statement& to_a = *address_behind(a.operands.at(0));
  const Statement& to_b = *address_behind(b.operands.at(0));
  return a.attributes == b.attributes &&
         std::ranges::equal(a.operands | std::views::drop(1), b.operands | std::views::drop(1)) &&
         to_a.operands.front() == to_b.operands.front() &&
         to_a.operands.back() == to_b.operands.back();
}

/// The consumers' program without a mover again.
void take_back(Region& region) {
  std::erase_if(region.statements, [](const auto& statement) {
    return statement->is("put_tile") || statement->is("await_moves");
  });
  for (auto& statement : region.statements) {
    for (Region& inner : statement->regions) take_back(inner);
    statement->attributes.erase("moved");
    statement->attributes.erase("mover");
  }
}

class Splitter {
 public:
  Splitter(Program& program, Statement& roles) : program_(program), roles_(roles) {}

  /// Changes nothing where a mover can't find out by itself what to do and when.
  void run() {
    Region& consumers = roles_.regions.at(1);
    insert_puts(consumers);
    insert_awaits(consumers, MoveOrder(program_, consumers));
    Region mover = clone_of(consumers);
    make_movers(mover);
    keep_slice(mover, is_movers_op);
    if (!is_possible(mover)) {
      take_back(consumers);
      return;
    }
    std::erase_if(mover.statements,
                  [](const auto& each) { return each->kind == StatementKind::kYield; });
    mover.statements.push_back(new_structure(StatementKind::kYield));
    make_consumers(consumers);
    add_branch(std::move(mover));
    remove_dead_code(program_);
  }

 private:
  Region clone_of(const Region& region) {
    Region copy;
    Replacements mapping;
    copy.statements = clone_statements(program_, region, mapping);
    return copy;
  }

  /// Whether it does nothing but moving, and needs no tile for that.
  static bool is_possible(const Region& mover) {
    bool is_possible = true;
    for_each_statement(mover, [&](const Statement& statement) {
      for (const Value* operand : statement.operands) {
        is_possible &= operand->definition == nullptr || !is_moved(*operand->definition);
      }
      if (statement.kind != StatementKind::kOp || is_movers_op(statement)) return;
      is_possible &= statement.op->effect == Effect::kPure;
    });
    return is_possible;
  }

  /// A tile that goes to several places is put once.
  void insert_puts(Region& region) {
    Statements old = std::exchange(region.statements, {});
    const Statement* first = nullptr;  // store of what was put
    for (auto& statement : old) {
      for (Region& inner : statement->regions) insert_puts(inner);
      const bool is_store = statement->is("tile_store") && is_moved(*statement);
      if (is_store && (first == nullptr || !go_together(*first, *statement))) {
        first = statement.get();
        region.statements.push_back(
            program_.new_op("put_tile", {statement->operands[1]}, {}, statement->location));
      }
      const bool is_pure =
          statement->kind == StatementKind::kOp && statement->op->effect == Effect::kPure;
      if (!is_store && !is_pure && !tells(*statement)) first = nullptr;
      region.statements.push_back(std::move(statement));
    }
  }

  void insert_awaits(Region& region, const MoveOrder& order) {
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
    auto branch = new_structure(StatementKind::kIf);
    branch->operands = {insert.op("is_mover", {})};
    branch->regions.push_back(std::move(mover));
    branch->regions.emplace_back().statements.push_back(new_structure(StatementKind::kYield));
    insert.append(std::move(branch));
    std::ranges::move(before, std::back_inserter(producer));
  }

  Program& program_;
  Statement& roles_;
  Replacements replaced_;
  Statements kept_;  ///< so that no new statement takes their address
};

}  // namespace

Program split_mover(Program program) {
  const int stages = plan_staging(program).num_stages;
  if (stages == 0) return program;
  for (auto& roles : program.body.statements) {
    if (!are_roles(*roles)) continue;
    const Moves moves = find_moves(program, *roles);
    if (moves.stores.empty()) return program;
    for (const auto* list : {&moves.stores, &moves.loads}) {
      for (Statement* op : *list) op->attributes["moved"] = true;
    }
    if (plan_staging(program).num_stages >= std::min(stages, kFewestStages)) {
      Splitter(program, *roles).run();
    } else {
      take_back(roles->regions.at(1));
    }
    break;
  }
  return program;
}

}  // namespace tilewire

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/program_slice.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// Whether a consumer that comes here must know that what stands before has been waited for.
bool relies_on_waits(const Statement& op) {
  const Effect effect = effect_of(op);
  return effect == Effect::kReads || effect == Effect::kWrites ||
         (effect == Effect::kSynchronises && op.op->meeting.tells);
}

/// Waits of the producer that the consumers may not have learned of yet. They learn from the next
/// slot of the ring, which was filled behind the wait: `nullptr`, or only where the slots are those
/// of a loop from 0 on that has no iteration: its upper bound.
using Unlearned = std::map<const Statement*, Value*>;

/// In either.
Unlearned joined(Unlearned a, const Unlearned& b) {
  for (const auto& [wait, unless] : b) {
    const auto [found, is_new] = a.emplace(wait, unless);
    if (!is_new && found->second != unless) found->second = nullptr;
  }
  return a;
}

class Placer {
 public:
  explicit Placer(Program& program) : program_(program) {
    std::set<const Value*> constants;
    for (const Parameter& parameter : program.parameters) {
      if (parameter.is_constant) constants.insert(parameter.value);
    }
    const auto slice = slice_of(program.body, [](const Statement& statement) {
      return statement.is("operand_load") || is_acquire(statement);
    });
    for (const Statement* statement : slice) {
      if (statement->kind != StatementKind::kOp) continue;
      if (effect_of(*statement) == Effect::kReads) loads_.insert(statement);
      if (!statement->is("operand_load") || constants.contains(statement->operands[0])) continue;
      loads_.insert(statement);
      loaded_.insert(statement->operands[0]);
    }
  }

  void run() {
    find_guards(program_.body, false);
    learn(program_.body, {});
    place(program_.body);
  }

 private:
  /// What loads of the producer may follow, if somebody may write what they read: waits that are
  /// then its own, and what the consumers hand over behind: other acquires, own writes of what is
  /// loaded, structures with such. Whether any load comes behind the region → or in it.
  bool find_guards(const Region& region, bool is_loaded_later) {
    for (auto each = region.statements.rbegin(); each != region.statements.rend(); ++each) {
      const Statement& statement = **each;
      const bool has_load =
          has(statement, [&](const Statement& op) { return loads_.contains(&op); });
      if (!has_load) {
        if (is_loaded_later) guard(statement);
        continue;
      }
      const bool is_loop =
          statement.kind == StatementKind::kFor || statement.kind == StatementKind::kWhile;
      for (const Region& inner : statement.regions) {
        find_guards(inner, is_loaded_later || is_loop);
      }
      is_loaded_later = true;
    }
    return is_loaded_later;
  }

  void guard(const Statement& statement) {
    if (has(statement, [&](const Statement& op) {
          return (is_acquire(op) && !is_producers_wait(op)) || writes_loaded(op);
        })) {
      guards_.insert(&statement);
    }
    has(statement, [&](const Statement& op) {
      if (is_producers_wait(op)) guards_.insert(&op);
      return false;
    });
  }

  /// Whether a predicate holds for an op, or any inside a structure.
  template <typename Predicate>
  static bool has(const Statement& statement, const Predicate& holds) {
    if (statement.kind == StatementKind::kOp) return holds(statement);
    bool any = false;
    for (const Region& region : statement.regions) {
      for_each_statement(region, [&](const Statement& inner) {
        any |= inner.kind == StatementKind::kOp && holds(inner);
      });
    }
    return any;
  }

  bool writes_loaded(const Statement& op) const {
    return op.op->effect == Effect::kWrites && !op.operands.empty() &&
           loaded_.contains(parameter_behind(op.operands[0]));
  }

  bool is_of_producer(const Statement& statement) const {
    return is_producers_wait(statement) && guards_.contains(&statement);
  }

  /// What consumers don't know at the region's start → at its end. Notes what they must wait for
  /// themselves.
  Unlearned learn(const Region& region, Unlearned unlearned) {
    for (const auto& statement : region.statements) {
      unlearned = learn_from(*statement, std::move(unlearned));
    }
    return unlearned;
  }

  Unlearned learn_from(const Statement& statement, Unlearned before) {
    switch (statement.kind) {
      case StatementKind::kOp:
        return learn_from_op(statement, std::move(before));
      case StatementKind::kFor:
        return learn_from_for(statement, before);
      case StatementKind::kWhile:
        while (true) {
          Unlearned tested = learn(statement.regions.at(0), before);
          Unlearned next = joined(before, learn(statement.regions.at(1), tested));
          if (next == before) return tested;
          before = std::move(next);
        }
      case StatementKind::kIf: {
        Unlearned chosen = learn(statement.regions.at(0), before);
        return joined(std::move(chosen), learn(statement.regions.at(1), std::move(before)));
      }
      case StatementKind::kYield:
      case StatementKind::kReturn:
        return before;
    }
    return before;
  }

  Unlearned learn_from_op(const Statement& op, Unlearned unlearned) {
    if (is_staged(op) || op.is("skip_product")) return {};
    if (relies_on_waits(op)) needed_ = joined(std::move(needed_), unlearned);
    if (is_of_producer(op)) unlearned.insert_or_assign(&op, nullptr);
    return unlearned;
  }

  Unlearned learn_from_for(const Statement& loop, const Unlearned& before) {
    Unlearned entry = before;
    while (true) {
      Unlearned end = learn(loop.body(), entry);
      Unlearned next = joined(entry, end);
      if (next == entry) return joined(learned_unless_empty(loop, before, end), end);
      entry = std::move(next);
    }
  }

  /// Where the loop may have no iteration.
  Unlearned learned_unless_empty(const Statement& loop, const Unlearned& before,
                                 const Unlearned& end) const {
    std::int64_t lower = 0;
    const bool is_from_zero = is_integer_constant(loop.operands.at(0), lower) && lower == 0;
    Value* upper = loop.operands.at(1);
    std::int64_t limit = 0;
    const bool is_never_empty = is_integer_constant(upper, limit) && limit > 0;
    const bool is_known_before =
        std::ranges::find(program_.body.arguments, upper) != program_.body.arguments.end();
    Unlearned result;
    for (const auto& [wait, unless] : before) {
      const bool is_learned_inside = is_from_zero && !end.contains(wait);
      if (is_learned_inside && is_never_empty) continue;
      result[wait] = is_learned_inside && is_known_before && unless == nullptr ? upper : unless;
    }
    return result;
  }

  void place(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) place(inner);
      Inserter insert(program_, region.statements, statement->location);
      const bool is_guard = guards_.contains(statement.get());
      if (is_of_producer(*statement)) {
        const auto needed = needed_.find(statement.get());
        const Statement& wait = insert.append(std::move(statement));
        if (needed != needed_.end()) wait_too(wait, needed->second, insert);
        continue;
      }
      if (statement->flag("producer")) {
        statement->attributes.erase(statement->attributes.find("producer"));
      }
      const bool is_bulk = is_guard && has(*statement, [&](const Statement& op) {
                             return writes_loaded(op) && op.flag("bulk");
                           });
      insert.append(std::move(statement));
      if (is_bulk) insert.append(program_.new_op("drain_copies", {}, {}, insert.location()));
      if (is_guard) insert.append(program_.new_op("hand_over", {}, {}, insert.location()));
    }
  }

  /// The consumers wait as well: always, or where the loop up to `upper` has no iteration.
  void wait_too(const Statement& wait, Value* upper, Inserter& insert) {
    std::vector<Value*> operands = wait.operands;
    Attributes attributes = wait.attributes;
    attributes.erase(attributes.find("producer"));
    if (upper != nullptr) {
      Value* is_empty = insert.op("le", {upper, insert.constant(0)});
      if (wait.flag("predicated")) {
        operands.back() = insert.op("and", {operands.back(), is_empty});
      } else {
        operands.push_back(is_empty);
        attributes["predicated"] = true;
      }
    }
    insert.append(program_.new_op("flag_wait", std::move(operands), std::move(attributes),
                                  insert.location()));
  }

  Program& program_;
  std::set<const Statement*> loads_;  ///< of the producer, of what somebody may write
  std::set<const Value*> loaded_;     ///< parameters, by loads of operands
  std::set<const Statement*> guards_;
  Unlearned needed_;  ///< waits of the producer that the consumers need too
};

void forget_producer(Region& region) {
  for (auto& statement : region.statements) {
    for (Region& inner : statement->regions) forget_producer(inner);
    if (!statement->flag("producer")) continue;
    statement->attributes.erase(statement->attributes.find("producer"));
  }
}

}  // namespace

Program place_waits(Program program) {
  if (has_staged_product(program.body)) {
    Placer(program).run();
  } else {
    forget_producer(program.body);
  }
  return program;
}

}  // namespace tilewire

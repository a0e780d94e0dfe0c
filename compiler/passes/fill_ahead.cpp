#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/find_products_ahead.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

constexpr int kCopyCapability = 80;  // `cp.async`

/// Rewrites the chosen loops.
class Filler {
 public:
  Filler(Program& program, std::vector<LoopAhead> chosen) : program_(program) {
    for (LoopAhead& loop : chosen) loops_[loop.loop] = std::move(loop);
  }

  void run(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) run(inner);
      const auto found = loops_.find(statement.get());
      if (found != loops_.end()) rewrite(found->second, region.statements);
      region.statements.push_back(std::move(statement));
    }
  }

 private:
  /// In front of the loop, its first slots are filled; in each iteration, the one so many further
  /// on.
  void rewrite(const LoopAhead& ahead, Statements& before) {
    Statement& loop = *ahead.loop;
    Region& body = loop.body();
    Value* const step = loop.operands.at(2);
    Inserter front(program_, before, loop.location);
    Value* const num_ahead = front.op("begin_slots", {});
    Value* const distance = front.op("mul", {num_ahead, step});

    Region first;
    Value* const number = program_.new_value(Type::scalar(kIndex));
    first.arguments = {number};
    Inserter in_first(program_, first.statements, loop.location);
    Value* index = in_first.op("mul", {number, step});
    std::int64_t lower = 0;
    if (!is_integer_constant(loop.operands.at(0), lower) || lower != 0) {
      index = in_first.op("add", {loop.operands.at(0), index});
    }
    fill(ahead, index, in_first);
    in_first.append(new_structure(StatementKind::kYield, loop.location));

    Statements old;
    Inserter in_body(program_, old, loop.location);
    in_body.append(program_.new_op("await_slot", {}, {}, loop.location));
    fill(ahead, in_body.op("add", {body.arguments.front(), distance}), in_body);
    old.swap(body.statements);
    take_operands(ahead, old, body.statements);

    auto filling = new_structure(StatementKind::kFor, loop.location);
    filling->attributes["iterate"] = std::string(name_of(Iterate::kRange));
    filling->operands = {front.constant(0), num_ahead, front.constant(1)};
    filling->regions.push_back(std::move(first));
    front.append(std::move(filling));
  }

  /// Fills a slot with the operands of the iteration at `index`, where there is one.
  void fill(const LoopAhead& ahead, Value* index, Inserter& insert) {
    const SourceLocation& location = ahead.loop->location;
    auto branch = new_structure(StatementKind::kIf, location);
    branch->operands = {insert.op("lt", {index, ahead.loop->operands.at(1)})};
    Region copies;
    copy_operands(ahead, index, copies.statements);
    copies.statements.push_back(new_structure(StatementKind::kYield, location));
    Region nothing;
    nothing.statements.push_back(new_structure(StatementKind::kYield, location));
    branch->regions.push_back(std::move(copies));
    branch->regions.push_back(std::move(nothing));
    insert.append(std::move(branch));
    insert.append(program_.new_op("fill_slot", {}, {}, location));
  }

  /// The loads, and what they need of the body, as copies to the slot.
  void copy_operands(const LoopAhead& ahead, Value* index, Statements& into) {
    const Region& body = ahead.loop->body();
    const std::set<const Statement*> slice = slice_of_loads(ahead);
    Replacements mapping;
    mapping.replace(body.arguments.front(), index);
    for (const auto& statement : body.statements) {
      if (!slice.contains(statement.get())) continue;
      std::vector<Value*> operands = statement->operands;
      mapping.resolve_all(operands);
      Attributes attributes = statement->attributes;
      const auto operand = ahead.operands.find(statement.get());
      if (operand != ahead.operands.end()) {
        attributes["depth"] = static_cast<std::int64_t>(operand->second.depth);
        attributes["offset"] = operand->second.offset;
      }
      into.push_back(
          program_.new_op(operand != ahead.operands.end() ? "copy_operand" : statement->op->name,
                          std::move(operands), std::move(attributes), statement->location));
      for (std::size_t i = 0; i < into.back()->results.size(); ++i) {
        into.back()->results[i]->name = statement->results[i]->name;
        mapping.replace(statement->results[i], into.back()->results[i]);
      }
    }
  }

  /// Statements of the loop's body that its loads depend on, and the loads.
  static std::set<const Statement*> slice_of_loads(const LoopAhead& ahead) {
    std::set<const Statement*> slice;
    const auto& statements = ahead.loop->body().statements;
    for (auto it = statements.rbegin(); it != statements.rend(); ++it) {
      const bool is_needed = ahead.operands.contains(it->get()) ||
                             std::ranges::any_of(slice, [&](const Statement* user) {
                               return std::ranges::any_of(user->operands, [&](const Value* value) {
                                 return value->definition == it->get();
                               });
                             });
      if (is_needed) slice.insert(it->get());
    }
    return slice;
  }

  /// The loads become what the slot holds.
  void take_operands(const LoopAhead& ahead, Statements& old, Statements& into) {
    Replacements replaced;
    for (auto& statement : old) {
      replaced.resolve_all(statement->operands);
      const auto found = ahead.operands.find(statement.get());
      if (found == ahead.operands.end()) {
        into.push_back(std::move(statement));
        continue;
      }
      const SlotOperand& operand = found->second;
      const Type& tile = statement->result()->type;
      Inserter insert(program_, into, statement->location);
      Value* held = insert.op("staged_operand", {},
                              {{"shape", tile.shape},
                               {"dtype", tile.dtype},
                               {"place", static_cast<std::int64_t>(operand.place)},
                               {"by_columns", true},
                               {"offset", operand.offset}});
      held->name = statement->result()->name;
      replaced.replace(statement->result(), held);
      removed_.push_back(std::move(statement));
    }
  }

  Program& program_;
  std::map<const Statement*, LoopAhead> loops_;
  Statements removed_;  ///< kept, so that no new statement takes their address
};

}  // namespace

bool has_products_ahead(const Target& target) {
  return target.is_cuda() && target.compute_capability >= kCopyCapability;
}

Program fill_ahead(Program program, const Target& target) {
  if (!has_products_ahead(target)) return program;
  std::vector<LoopAhead> chosen = find_products_ahead(program, target);
  if (chosen.empty()) return program;
  Filler(program, std::move(chosen)).run(program.body);
  remove_dead_code(program);
  return program;
}

}  // namespace tilewire

#include "compiler/passes/dead_code.h"

#include <algorithm>
#include <map>

#include "compiler/ops/op.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

template <typename T>
void erase_at(std::vector<T>& items, std::size_t i) {
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(i));
}

/// Whether it is an assertion of what is known to be true.
bool always_holds(const Statement& statement) {
  if (!statement.is("assert")) return false;
  const Value* condition = statement.operands.at(statement.flag("ranked") ? 1 : 0);
  const Attribute* known = constant_value(condition);
  return known != nullptr && std::get_if<bool>(known) != nullptr && std::get<bool>(*known);
}

bool has_effect(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kOp:
      return statement.op->effect != Effect::kPure && statement.op->effect != Effect::kReads &&
             !always_holds(statement);
    case StatementKind::kReturn:
      return true;
    case StatementKind::kFor:
    case StatementKind::kWhile:
    case StatementKind::kIf: {
      bool any = false;
      for (const Region& region : statement.regions) {
        for (const auto& inner : region.statements) any = any || has_effect(*inner);
      }
      return any;
    }
    case StatementKind::kYield:
      return false;
  }
  return true;
}

class Sweep {
 public:
  explicit Sweep(Program& program) : program_(program), uses_(count_uses(program.body)) {}

  bool run() {
    region(program_.body);
    return changed_;
  }

 private:
  bool is_used(const Value* value) const {
    const auto found = uses_.find(value);
    return found != uses_.end() && found->second > 0;
  }

  void release(const Statement& statement) {
    for (const Value* operand : statement.operands) --uses_[operand];
    for (const Region& region : statement.regions) {
      for (const auto& inner : region.statements) release(*inner);
    }
  }

  /// From the last statement to the first: what a removed statement used is looked at afterwards.
  void region(Region& region) {
    for (auto statement = region.statements.rbegin(); statement != region.statements.rend();
         ++statement) {
      if (is_dead(**statement)) {
        release(**statement);
        statement->reset();
        changed_ = true;
        continue;
      }
      const bool is_loop =
          (*statement)->kind == StatementKind::kFor || (*statement)->kind == StatementKind::kWhile;
      if (is_loop) prune_loop(**statement);
      if ((*statement)->kind == StatementKind::kIf) prune_if(**statement);
      for (Region& inner : (*statement)->regions) this->region(inner);
    }
    std::erase(region.statements, nullptr);
  }

  bool is_dead(const Statement& statement) const {
    if (statement.kind == StatementKind::kYield || has_effect(statement)) return false;
    return std::none_of(statement.results.begin(), statement.results.end(),
                        [this](const Value* result) { return is_used(result); });
  }

  void prune_loop(Statement& loop) {
    for (std::size_t i = loop.results.size(); i-- > 0;) {
      if (is_used(loop.results[i])) continue;
      if (std::any_of(loop.regions.begin(), loop.regions.end(), [&](const Region& region) {
            return is_used(region.arguments[region.arguments.size() - loop.results.size() + i]);
          })) {
        continue;
      }
      --uses_[loop.operands[i + loop.num_bounds()]];
      --uses_[loop.body().statements.back()->operands[i]];
      drop_carried(loop, i);
      changed_ = true;
    }
  }

  void prune_if(Statement& branch) {
    for (std::size_t i = branch.results.size(); i-- > 0;) {
      if (is_used(branch.results[i])) continue;
      for (const Region& region : branch.regions) {
        --uses_[region.statements.back()->operands[i]];
      }
      drop_chosen(branch, i);
      changed_ = true;
    }
  }

  Program& program_;
  std::map<const Value*, int> uses_;
  bool changed_ = false;
};

}  // namespace

void drop_carried(Statement& loop, std::size_t i) {
  for (Region& region : loop.regions) {
    erase_at(region.arguments, region.arguments.size() - loop.results.size() + i);
  }
  erase_at(loop.operands, i + loop.num_bounds());
  erase_at(loop.body().statements.back()->operands, i);
  erase_at(loop.results, i);
}

void drop_chosen(Statement& branch, std::size_t i) {
  for (Region& region : branch.regions) erase_at(region.statements.back()->operands, i);
  erase_at(branch.results, i);
}

bool remove_dead_code(Program& program) { return Sweep(program).run(); }

}  // namespace tilewire

#include <algorithm>
#include <map>
#include <set>

#include "compiler/ops/staging.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// What a loop computes anew in each iteration.
class Iteration {
 public:
  explicit Iteration(const Statement& loop) { collect(loop); }

  bool is_new(const Value* value) {
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    return known_[value] = find(value);
  }

 private:
  void collect(const Statement& structure) {
    for (const Region& region : structure.regions) {
      arguments_.insert(region.arguments.begin(), region.arguments.end());
      for (const auto& statement : region.statements) {
        inside_.insert(statement.get());
        collect(*statement);
      }
    }
  }

  /// Products, and what depends on them, on an index, or on what loops carry. Loads of one place
  /// are no news: the CUDA compiler may do them once.
  bool find(const Value* value) {
    const Statement* made = value->definition;
    if (made == nullptr) return arguments_.contains(value);
    if (!inside_.contains(made)) return false;
    if (is_staged(*made) || made->kind != StatementKind::kOp) return true;
    return std::ranges::any_of(made->operands,
                               [this](const Value* operand) { return is_new(operand); });
  }

  std::set<const Statement*> inside_;
  std::set<const Value*> arguments_;
  std::map<const Value*, bool> known_;
};

class Marker {
 public:
  explicit Marker(const Program& program) : uses_(count_uses(program.body)) {}

  void mark(Region& region, Iteration* iteration) {
    for (auto& statement : region.statements) {
      if (is_staged(*statement) && statement->flag("held")) {
        const Value* left = statement->operands.at(0);
        const bool is_new = iteration == nullptr || iteration->is_new(left);
        if (!is_new || uses_.at(left) > 1) statement->attributes["kept"] = true;
      }
      const bool is_loop =
          statement->kind == StatementKind::kFor || statement->kind == StatementKind::kWhile;
      if (is_loop) {
        Iteration inner(*statement);
        for (Region& each : statement->regions) mark(each, &inner);
      } else {
        for (Region& each : statement->regions) mark(each, iteration);
      }
    }
  }

 private:
  std::map<const Value*, int> uses_;
};

}  // namespace

Program mark_kept(Program program) {
  Marker(program).mark(program.body, nullptr);
  return program;
}

}  // namespace tilewire

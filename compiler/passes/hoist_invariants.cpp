#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// Registers are dear: tiles that stay alive over a loop take at most so many bytes of a thread.
constexpr std::int64_t kMaxHoistedBytes = 64;

/// Ops that cost nothing where they stand: moving them alone would only take registers.
bool is_free(const Statement& op) {
  return op.is("constant") || op.is("full") || op.is("arange") || op.is("reshape") ||
         op.is("broadcast");
}

/// Whether running it earlier, and once, gives what it gives in every iteration. An op that reads
/// memory doesn't, but for `tw.constant` tensors: something inside the loop may write there, or
/// wait for who does.
bool is_movable(const Statement& statement) {
  return statement.kind == StatementKind::kOp && effect_of(statement) == Effect::kPure;
}

bool is_loop(const Statement& statement) {
  return statement.kind == StatementKind::kFor || statement.kind == StatementKind::kWhile;
}

class Hoister {
 public:
  explicit Hoister(const Program& program) : num_threads_(std::max(1, program.num_threads)) {}

  void run(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) run(inner);
      if (is_loop(*statement)) {
        for (Region& inner : statement->regions) hoist(inner, region.statements);
      }
      region.statements.push_back(std::move(statement));
    }
  }

 private:
  /// Moves what doesn't change from iteration to iteration to the end of `before`.
  void hoist(Region& body, Statements& before) {
    const std::set<const Statement*> moved = worthwhile(body, invariants(body));
    Statements rest;
    for (auto& statement : body.statements) {
      (moved.contains(statement.get()) ? before : rest).push_back(std::move(statement));
    }
    body.statements = std::move(rest);
  }

  static std::set<const Statement*> invariants(const Region& body) {
    std::set<const Value*> inside(body.arguments.begin(), body.arguments.end());
    std::set<const Statement*> invariants;
    for (const auto& statement : body.statements) {
      const bool changes = !is_movable(*statement) ||
                           std::ranges::any_of(statement->operands, [&](const Value* value) {
                             return inside.contains(value);
                           });
      if (!changes) {
        invariants.insert(statement.get());
        continue;
      }
      inside.insert(statement->results.begin(), statement->results.end());
    }
    return invariants;
  }

  /// The invariants without free ops that none of the others needs, and without what would take too
  /// many registers.
  std::set<const Statement*> worthwhile(const Region& body,
                                        const std::set<const Statement*>& invariants) const {
    std::set<const Statement*> chosen;
    std::int64_t num_bytes_alive = 0;
    const auto is_outside = [&](const Value* value) {
      return value->definition == nullptr || !invariants.contains(value->definition) ||
             chosen.contains(value->definition) || is_free(*value->definition);
    };
    for (const auto& statement : body.statements) {
      if (!invariants.contains(statement.get()) || is_free(*statement)) continue;
      if (!std::ranges::all_of(statement->operands, is_outside)) continue;
      const std::int64_t num_bytes = bytes_per_thread(*statement);
      if (num_bytes_alive + num_bytes > kMaxHoistedBytes) continue;
      num_bytes_alive += num_bytes;
      choose(*statement, invariants, chosen);
    }
    return chosen;
  }

  /// With the free ops that it needs.
  static void choose(const Statement& statement, const std::set<const Statement*>& invariants,
                     std::set<const Statement*>& chosen) {
    if (!chosen.insert(&statement).second) return;
    for (const Value* value : statement.operands) {
      if (value->definition != nullptr && invariants.contains(value->definition)) {
        choose(*value->definition, invariants, chosen);
      }
    }
  }

  std::int64_t bytes_per_thread(const Statement& statement) const {
    std::int64_t num_bytes = 0;
    for (const Value* result : statement.results) {
      if (!result->type.is_tile()) continue;
      num_bytes +=
          result->type.num_elements() * tilewire::num_bytes(result->type.dtype) / num_threads_;
    }
    return num_bytes;
  }

  int num_threads_;
};

}  // namespace

Program hoist_invariants(Program program) {
  Hoister(program).run(program.body);
  return program;
}

}  // namespace tilewire

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/identities.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

constexpr int kMaxRounds = 16;  ///< each round only makes programs smaller; two or three do

/// Iterations of a loop over constants, or over nothing.
std::optional<std::int64_t> num_iterations(const Statement& loop) {
  if (loop.operands[0] == loop.operands[1]) return 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t step = 0;
  if (!is_integer_constant(loop.operands[0], lower) ||
      !is_integer_constant(loop.operands[1], upper)) {
    return std::nullopt;
  }
  if (lower >= upper) return 0;
  if (!is_integer_constant(loop.operands[2], step) || step <= 0) return std::nullopt;
  std::int64_t length = 0;
  if (__builtin_sub_overflow(upper, lower, &length)) return std::nullopt;
  return (length - 1) / step + 1;
}

/// One walk in program order: everything that an operand names was simplified before.
class Walk {
 public:
  explicit Walk(Program& program) : program_(program) {}

  bool run() {
    region(program_.body);
    return changed_;
  }

 private:
  using Key = std::tuple<const OpInfo*, std::vector<Value*>, std::string>;

  void region(Region& region) {
    available_.emplace_back();
    Statements old = std::exchange(region.statements, {});
    bool has_returned = false;
    for (auto& statement : old) visit(std::move(statement), region.statements, has_returned);
    available_.pop_back();
  }

  void visit(std::unique_ptr<Statement> statement, Statements& into, bool& has_returned) {
    replaced_.resolve_all(statement->operands);
    const bool is_pure =
        statement->kind == StatementKind::kOp && effect_of(*statement) == Effect::kPure;
    if (has_returned && statement->kind != StatementKind::kYield && !is_pure) {
      // Never runs. Its results stay defined for a yield that never runs either.
      if (statement->results.empty()) return remove(std::move(statement));
    }
    switch (statement->kind) {
      case StatementKind::kOp:
        return visit_op(std::move(statement), into);
      case StatementKind::kFor:
        return visit_for(std::move(statement), into, has_returned);
      case StatementKind::kWhile:
        return visit_while(std::move(statement), into);
      case StatementKind::kIf:
        return visit_if(std::move(statement), into, has_returned);
      case StatementKind::kReturn:
        has_returned = true;
        break;
      case StatementKind::kYield:
        break;
    }
    into.push_back(std::move(statement));
  }

  void visit_op(std::unique_ptr<Statement> statement, Statements& into) {
    Inserter insert(program_, into, statement->location);
    const std::size_t num_before = into.size();
    if (Value* value = simplify(*statement, insert)) {
      return replace(std::move(statement), {value});
    }
    into.resize(num_before);
    if (effect_of(*statement) == Effect::kPure && !statement->results.empty()) {
      std::string attributes;
      for (const auto& [name, value] : statement->attributes) {
        attributes += name + "=" + to_string(value) + ",";
      }
      const Key key{statement->op, statement->operands, std::move(attributes)};
      for (const auto& scope : available_) {
        const auto found = scope.find(key);
        if (found != scope.end()) return replace(std::move(statement), found->second);
      }
      available_.back().emplace(key, statement->results);
    }
    into.push_back(std::move(statement));
  }

  void visit_for(std::unique_ptr<Statement> loop, Statements& into, bool& has_returned) {
    const bool is_range = loop->iterate() == Iterate::kRange;
    const std::optional<std::int64_t> count = is_range ? num_iterations(*loop) : std::nullopt;
    const std::vector<Value*> initial(loop->operands.begin() + 3, loop->operands.end());
    if (count == 0) return replace(std::move(loop), initial);
    Region& body = loop->regions[0];
    if (count == 1) {
      replaced_.replace(body.arguments[0], loop->operands[0]);
      for (std::size_t i = 0; i < initial.size(); ++i) {
        replaced_.replace(body.arguments[i + 1], initial[i]);
      }
      return splice(std::move(loop), 0, into, has_returned);
    }
    drop_invariant(*loop);
    region(body);
    into.push_back(std::move(loop));
  }

  void visit_while(std::unique_ptr<Statement> loop, Statements& into) {
    drop_invariant(*loop);
    for (Region& region : loop->regions) this->region(region);
    const Statements& condition = loop->regions[0].statements;
    const Attribute* goes_on = constant_value(condition.back()->operands[0]);
    const bool is_pure = std::all_of(condition.begin(), condition.end(), [](const auto& statement) {
      return statement->kind == StatementKind::kYield ||
             (statement->kind == StatementKind::kOp && statement->op->effect == Effect::kPure);
    });
    if (goes_on != nullptr && !std::get<bool>(*goes_on) && is_pure) {
      const std::vector<Value*> initial = loop->operands;
      return replace(std::move(loop), initial);
    }
    into.push_back(std::move(loop));
  }

  /// A carried value that every iteration hands on as it came is the initial value.
  void drop_invariant(Statement& loop) {
    std::vector<Value*>& yielded = loop.body().statements.back()->operands;
    for (std::size_t i = loop.results.size(); i-- > 0;) {
      Value* initial = loop.operands[i + loop.num_bounds()];
      const auto argument_of = [&](const Region& region) {
        return region.arguments[region.arguments.size() - loop.results.size() + i];
      };
      if (yielded[i] != argument_of(loop.body()) && replaced_.resolve(yielded[i]) != initial) {
        continue;
      }
      for (const Region& region : loop.regions) replaced_.replace(argument_of(region), initial);
      replaced_.replace(loop.results[i], initial);
      drop_carried(loop, i);
      changed_ = true;
    }
  }

  void visit_if(std::unique_ptr<Statement> branch, Statements& into, bool& has_returned) {
    const Attribute* condition = constant_value(branch->operands[0]);
    if (condition != nullptr) {
      return splice(std::move(branch), std::get<bool>(*condition) ? 0 : 1, into, has_returned);
    }
    for (Region& region : branch->regions) this->region(region);
    into.push_back(std::move(branch));
  }

  /// Puts a region's statements in the place of their owner.
  void splice(std::unique_ptr<Statement> owner, std::size_t region, Statements& into,
              bool& has_returned) {
    Statements inner = std::exchange(owner->regions[region].statements, {});
    std::unique_ptr<Statement> yield = std::move(inner.back());
    inner.pop_back();
    for (auto& statement : inner) visit(std::move(statement), into, has_returned);
    replaced_.resolve_all(yield->operands);
    replace(std::move(owner), yield->operands);
  }

  void replace(std::unique_ptr<Statement> statement, const std::vector<Value*>& by) {
    for (std::size_t i = 0; i < by.size(); ++i) {
      const bool is_constant = constant_value(by[i]) != nullptr;  // shared by unrelated statements
      if (by[i]->name.empty() && !is_constant) by[i]->name = statement->results[i]->name;
      replaced_.replace(statement->results[i], by[i]);
    }
    remove(std::move(statement));
  }

  void remove(std::unique_ptr<Statement> statement) {
    changed_ = true;
    removed_.push_back(std::move(statement));
  }

  Program& program_;
  Replacements replaced_;
  /// Results of the pure ops in sight, by enclosing region.
  std::vector<std::map<Key, std::vector<Value*>>> available_;
  Statements removed_;  ///< kept until the end, so that no new statement takes their address
  bool changed_ = false;
};

}  // namespace

Program canonicalise(Program program) {
  for (int round = 0; round < kMaxRounds; ++round) {
    const bool walked = Walk(program).run();
    if (!remove_dead_code(program) && !walked) break;
  }
  return program;
}

}  // namespace tilewire

#include "compiler/passes/task_apart.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/ops/task.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// Behind the last number of a launch, which a task may ask for.
Statements::iterator place_in(Statements& statements) {
  const auto last = std::find_if(statements.rbegin(), statements.rend(),
                                 [](const auto& each) { return each->is("generation"); });
  return last.base();
}

/// The statements of the producer, in a program with roles.
Statements* producer_of(Program& program) {
  for (auto& statement : program.body.statements) {
    if (are_roles(*statement)) return &statement->regions.at(0).statements;
  }
  return nullptr;
}

/// Copies what the task uses of the pure ops in front of it into it.
class Inward {
 public:
  Inward(Program& program, Statement& task) : program_(program) {
    for (const auto& statement : program.body.statements) {
      const bool is_pure =
          statement->kind == StatementKind::kOp && statement->op->effect == Effect::kPure;
      if (is_pure) outside_.insert(statement.get());
    }
    for_each_statement(task.regions[0], [this](const Statement& inner) { need(inner); });
    Statements made;
    for (const auto& statement : program.body.statements) {
      if (needed_.contains(statement.get())) made.push_back(copy_of(*statement));
    }
    replace(task.regions[0]);
    Statements& inner = task.regions[0].statements;
    inner.insert(inner.begin(), std::make_move_iterator(made.begin()),
                 std::make_move_iterator(made.end()));
  }

 private:
  void need(const Statement& user) {
    for (const Value* operand : user.operands) {
      const Statement* made = operand->definition;
      if (outside_.contains(made) && needed_.insert(made).second) need(*made);
    }
  }

  std::unique_ptr<Statement> copy_of(const Statement& statement) {
    auto copy = program_.new_op(statement.op->name, statement.operands, statement.attributes,
                                statement.location);
    inward_.resolve_all(copy->operands);
    for (std::size_t i = 0; i < statement.results.size(); ++i) {
      copy->results[i]->type = statement.results[i]->type;
      copy->results[i]->name = statement.results[i]->name;
      inward_.replace(statement.results[i], copy->results[i]);
    }
    return copy;
  }

  void replace(Region& region) {
    for (auto& statement : region.statements) {
      inward_.resolve_all(statement->operands);
      for (Region& inner : statement->regions) replace(inner);
    }
  }

  Program& program_;
  std::set<const Statement*> outside_;
  std::set<const Statement*> needed_;
  Replacements inward_;
};

}  // namespace

TaskApart::TaskApart(Program& program) {
  Statements& body = program.body.statements;
  for (auto& statement : body) {
    if (is_task(*statement)) task_ = std::move(statement);
  }
  if (task_ == nullptr) return;
  std::erase(body, nullptr);
  Inward(program, *task_);
  std::erase_if(body, [](const auto& each) { return each->is("in_task"); });
}

void TaskApart::give_back(Program& program) {
  if (task_ == nullptr) return;
  Statements* producer = producer_of(program);
  Statements& into = producer != nullptr ? *producer : program.body.statements;
  Statements made;
  Inserter insert(program, made, task_->location);
  task_->operands = {insert.op("in_task", {})};
  insert.append(std::move(task_));
  into.insert(place_in(into), std::make_move_iterator(made.begin()),
              std::make_move_iterator(made.end()));
}

}  // namespace tilewire

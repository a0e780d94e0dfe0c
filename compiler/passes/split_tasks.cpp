#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/task.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/program_slice.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// What a task does besides arithmetic on scalars: copies, and what orders them.
constexpr std::array kTasksOps = {"put",  "get",    "flush",  "prefetch", "set",
                                  "wait", "signal", "assert", "in_task",  "load"};

using Found = std::set<const Statement*>;

const Value* awaited_semaphore(const Statement& op) {
  if (!op.is("wait") || op.operands.at(0)->type.memory != Memory::kSemaphore) return nullptr;
  return parameter_of(op.operands.at(0));
}

[[noreturn]] void refuse(const Statement& statement, std::string_view what) {
  throw UserError(fmt::format("in a task: {}", what), statement.location);
}

/// What stands in a task, checked.
class TaskCheck {
 public:
  explicit TaskCheck(const Region& body) {
    check_region(body, false);
    for (const Statement* wait : waits_) {
      if (!rest_waits_.contains(awaited_semaphore(*wait))) continue;
      refuse(*wait,
             fmt::format("the rest of the instance waits for semaphores of `{}` too, and one "
                         "waiter may take signals; give the task an array of its own",
                         awaited_semaphore(*wait)->name));
    }
  }

 private:
  void check_region(const Region& region, bool is_inside) {
    for (const auto& statement : region.statements) {
      if (is_inside) {
        check(*statement);
      } else if (const Value* semaphore = awaited_semaphore(*statement)) {
        rest_waits_.insert(semaphore);
      }
      const bool is_branch = is_task(*statement);
      if (is_branch && is_inside) refuse(*statement, "another task; tasks don't nest");
      for (const Region& inner : statement->regions) check_region(inner, is_inside || is_branch);
    }
  }

  void check(const Statement& statement) {
    if (statement.kind == StatementKind::kReturn) {
      refuse(statement, "`return`; leave it by the branches that stand in it");
    }
    if (statement.kind != StatementKind::kOp) return;
    const std::string name = name_in_program(*statement.op, statement.attributes);
    if (statement.is("next_index")) {
      refuse(statement, "schedule=\"dynamic\"; a task's loops are static");
    }
    if (statement.op->effect != Effect::kPure &&
        std::ranges::find(kTasksOps, statement.op->name) == kTasksOps.end()) {
      refuse(
          statement,
          fmt::format("`{}`; a task copies views (`tw.put(view, view)`), waits (`tw.wait`), tells "
                      "(`tw.set`, `tw.signal`) and prefetches: the rest goes behind it",
                      name));
    }
    for (const auto* values : {&statement.operands, &statement.results}) {
      for (const Value* value : *values) {
        if (!value->type.is_tile()) continue;
        refuse(statement, fmt::format("`{}` of the tile {}; a task has scalars and views: "
                                      "`tw.put(view, view)` copies without a tile",
                                      name, value->type.to_string()));
      }
    }
    if (statement.is("put") && !statement.operands.at(1)->type.is_view()) {
      refuse(statement, "`put` of a value; a task copies views: `tw.put(view, view)`");
    }
    if (awaited_semaphore(statement) != nullptr) waits_.push_back(&statement);
  }

  std::vector<const Statement*> waits_;  ///< for semaphores
  std::set<const Value*> rest_waits_;
};

class Splitter {
 public:
  explicit Splitter(Program& program) : program_(program) {}

  void run() {
    Region task;
    Replacements mapping;
    task.statements = clone_statements(program_, program_.body, mapping);
    keep_task(task);
    drop_tasks(program_.body);
    join(program_.body);
    program_.body.statements.push_back(new_join());
    add_branch(std::move(task));
    while (remove_dead_code(program_)) {
    }
  }

 private:
  /// Of a copy of the program, what its tasks do, and what says whether and how often.
  void keep_task(Region& region) {
    Found inside;
    Found exits;
    bool is_before = false;
    find(region, false, inside, exits, is_before);
    keep_slice(region, [&](const Statement& statement) {
      if (exits.contains(&statement)) return true;
      if (statement.kind != StatementKind::kOp || !inside.contains(&statement)) return false;
      return statement.op->effect != Effect::kPure && statement.op->effect != Effect::kReads;
    });
    for_each_statement(region, [&](const Statement& statement) {
      if (inside.contains(&statement) || effect_of(statement) == Effect::kPure) return;
      if (statement.is("load") && is_constant(statement)) return;
      throw UserError(
          fmt::format("a task depends on this `{}`, which the rest of the instance does: a task "
                      "knows parameters, program ids and what is computed of them; what it needs "
                      "besides, it loads itself, inside of `with tw.task()`",
                      name_in_program(*statement.op, statement.attributes)),
          statement.location);
    });
    merge_tasks(region);
    std::erase_if(region.statements,
                  [](const auto& each) { return each->kind == StatementKind::kYield; });
    join(region);
  }

  bool is_constant(const Statement& load) const {
    const Value* parameter = parameter_of(load.operands.at(0));
    return std::ranges::any_of(program_.parameters, [&](const Parameter& each) {
      return each.value == parameter && each.is_constant;
    });
  }

  /// What stands in tasks, and the returns that a task may stand behind: from the end on.
  static void find(const Region& region, bool is_inside, Found& inside, Found& exits,
                   bool& is_before) {
    for (auto each = region.statements.rbegin(); each != region.statements.rend(); ++each) {
      const Statement& statement = **each;
      if (is_inside) inside.insert(&statement);
      if (statement.kind == StatementKind::kReturn && is_before) exits.insert(&statement);
      const bool is_loop =
          statement.kind == StatementKind::kFor || statement.kind == StatementKind::kWhile;
      is_before |= is_task(statement) || (is_loop && has_task(statement));
      for (auto inner = statement.regions.rbegin(); inner != statement.regions.rend(); ++inner) {
        find(*inner, is_inside || is_task(statement), inside, exits, is_before);
      }
    }
  }

  static bool has_task(const Statement& statement) {
    return std::ranges::any_of(statement.regions, [](const Region& region) {
      return std::ranges::any_of(
          region.statements, [](const auto& inner) { return is_task(*inner) || has_task(*inner); });
    });
  }

  /// The statements of each task take its place.
  static void merge_tasks(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) merge_tasks(inner);
      if (!is_task(*statement)) {
        region.statements.push_back(std::move(statement));
        continue;
      }
      for (auto& inner : statement->regions.at(0).statements) {
        if (inner->kind != StatementKind::kYield) region.statements.push_back(std::move(inner));
      }
    }
  }

  static void drop_tasks(Region& region) {
    std::erase_if(region.statements, [](const auto& statement) { return is_task(*statement); });
    std::erase_if(region.statements, [](const auto& each) { return each->is("in_task"); });
    for (auto& statement : region.statements) {
      for (Region& inner : statement->regions) drop_tasks(inner);
    }
  }

  std::unique_ptr<Statement> new_join() { return program_.new_op("join_task", {}, {}, location_); }

  /// In front of each return.
  void join(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) join(inner);
      if (statement->kind == StatementKind::kReturn) {
        region.statements.push_back(program_.new_op("join_task", {}, {}, statement->location));
      }
      region.statements.push_back(std::move(statement));
    }
  }

  /// In front of the rest of the program. It ends with a return.
  void add_branch(Region task) {
    Statements before;
    Inserter insert(program_, before, location_);
    auto branch = new_structure(StatementKind::kIf, location_);
    branch->operands = {insert.op("in_task", {})};
    task.statements.push_back(new_join());
    task.statements.push_back(new_structure(StatementKind::kReturn));
    task.statements.push_back(new_structure(StatementKind::kYield));
    branch->regions.push_back(std::move(task));
    branch->regions.emplace_back().statements.push_back(new_structure(StatementKind::kYield));
    insert.append(std::move(branch));
    Statements& body = program_.body.statements;
    body.insert(body.begin(), std::make_move_iterator(before.begin()),
                std::make_move_iterator(before.end()));
  }

  Program& program_;
  SourceLocation location_ = find_task(program_)->location;  ///< of the last task
};

}  // namespace

Program split_tasks(Program program) {
  if (find_task(program) == nullptr) return program;
  TaskCheck check(program.body);
  Splitter(program).run();
  return program;
}

void check_tasks_reach(const Program& program) {
  const Statement* task = find_task(program);
  if (task == nullptr) return;
  for_each_statement(task->regions.at(0), [](const Statement& statement) {
    if (statement.kind != StatementKind::kOp) return;
    const bool is_far =
        statement.op->name.starts_with("network_") ||
        (statement.has("network") && statement.flag("network")) ||
        (statement.has("team") && statement.is("at") && statement.text("team") == "network");
    if (is_far) {
      refuse(statement,
             "a rank that only the network reaches; a task's copies go where loads and stores "
             "reach: write `.at(r, team=tw.lsa)`, or put under `if tw.is_lsa(r)`, and what goes "
             "further behind the task");
    }
  });
}

}  // namespace tilewire

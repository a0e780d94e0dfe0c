#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/ops/task.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// A flag array has words for this many launches that may still be used by peers.
constexpr std::int64_t kFlagDistance = 2;

/// An object whose state every launch that takes it advances.
struct Object {
  const Parameter* parameter = nullptr;
  Value* generation = nullptr;

  bool is_flag() const { return parameter->kind == Parameter::Kind::kFlag; }
  /// Peers must have ended the launch so many before, so that what it used is free.
  std::int64_t distance() const { return is_flag() ? kFlagDistance : parameter->rotate; }
};

/// Where a view comes from.
struct Origin {
  const Value* parameter = nullptr;
  bool is_at_peer = false;
};

Origin origin_of(const Value* view) {
  Origin origin{view, false};
  while (origin.parameter->definition != nullptr) {
    const Statement& definition = *origin.parameter->definition;
    if (definition.operands.empty() || !definition.operands[0]->type.is_view()) break;
    origin.is_at_peer |= definition.is("at");
    origin.parameter = definition.operands[0];
  }
  return origin;
}

/// An acquiring barrier that meets all ranks that can be written to: they have started this launch.
bool meets_all(const Statement& statement) {
  const bool is_of_all =
      statement.is("lsa_barrier") ||
      (statement.is("grid_barrier") && statement.text("team") != "local") ||
      (statement.is("network_grid_barrier") && statement.text("team") == "world");
  return is_of_all &&
         (statement.text("order") == "acq_rel" || statement.text("order") == "acquire");
}

class LaunchStates {
 public:
  LaunchStates(Program& program, const Target& target)
      : program_(program), has_peers_(target.lsa_size > 1) {
    for (const Parameter& parameter : program.parameters) {
      if (parameter.is_launch_wide()) objects_.push_back({&parameter, nullptr});
    }
    for_each_statement(program.body, [this](const Statement& statement) {
      if (statement.has("site")) num_sites_ = std::max(num_sites_, statement.integer("site") + 1);
    });
  }

  void run() {
    if (objects_.empty()) return;
    Statements prologue;
    Inserter insert(program_, prologue, {});
    for (Object& object : objects_) {
      Attributes attributes;
      if (has_peers_) attributes["peers"] = true;
      object.generation = insert.op("generation", {object.parameter->value}, std::move(attributes));
      object.generation->name = object.parameter->name + "_generation";
    }
    if (has_peers_) announce();
    region(program_.body, {}, true);
    Statements& body = program_.body.statements;
    body.insert(body.begin(), std::make_move_iterator(prologue.begin()),
                std::make_move_iterator(prologue.end()));
  }

 private:
  /// Objects for which peers are known to have come far enough.
  using Known = std::set<const Parameter*>;

  /// As late as can be without being waited for: the loads in front come first.
  void announce() {
    Statements& body = program_.body.statements;
    for (const Object& object : objects_) {
      const auto first = std::ranges::find_if(body, [&](const auto& statement) {
        return statement->kind != StatementKind::kOp ||
               statement->op->effect == Effect::kSynchronises || touches(*statement, object);
      });
      body.insert(
          first, program_.new_op("announce", {object.parameter->value, object.generation}, {}, {}));
    }
  }

  static bool touches(const Statement& statement, const Object& object) {
    return std::ranges::any_of(statement.operands, [&](const Value* operand) {
      return operand->type.is_view() && origin_of(operand).parameter == object.parameter->value;
    });
  }

  /// Whether the statement, or one inside it, writes what a peer's earlier launch may use: flags at
  /// a peer; any copy of a rotating window, since peers may be reading this rank's too.
  bool writes(const Statement& statement, const Object& object) const {
    if (statement.kind != StatementKind::kOp) {
      return std::ranges::any_of(statement.regions, [&](const Region& region) {
        return std::ranges::any_of(region.statements,
                                   [&](const auto& inner) { return writes(*inner, object); });
      });
    }
    const Effect effect = statement.op->effect;
    if (effect != Effect::kWrites && effect != Effect::kSynchronises) return false;
    return std::ranges::any_of(statement.operands, [&](const Value* operand) {
      if (!operand->type.is_view()) return false;
      const Origin origin = origin_of(operand);
      return origin.parameter == object.parameter->value &&
             (origin.is_at_peer || !object.is_flag());
    });
  }

  /// What is known at the region's start → at its end; all of it where that isn't reached.
  Known region(Region& region, Known known, bool is_body = false) {
    Statements old = std::exchange(region.statements, {});
    bool is_left = false;
    for (auto& statement : old) {
      if (!is_left) before(*statement, region.statements, known);
      is_left |= statement->kind == StatementKind::kReturn;
      number(*statement);
      for (Region& inner : statement->regions) {
        if (statement->kind != StatementKind::kIf) this->region(inner, known);
      }
      if (is_task(*statement)) {
        is_in_task_ = true;
        this->region(statement->regions[0], known);
        is_in_task_ = false;
      } else if (statement->kind == StatementKind::kIf) {
        const Known then_known = this->region(statement->regions[0], known);
        const Known else_known = this->region(statement->regions[1], known);
        std::ranges::set_intersection(then_known, else_known, std::inserter(known, known.end()));
      }
      if (statement->kind == StatementKind::kOp && meets_all(*statement)) known = all();
      region.statements.push_back(std::move(statement));
    }
    if (is_body && !is_left) leave(region.statements, known, {});
    return is_left ? all() : known;
  }

  /// Sets and waits count in the launch's own words.
  void number(Statement& statement) const {
    if (!statement.is("set") && !statement.is("wait")) return;
    for (const Object& object : objects_) {
      if (object.is_flag() && touches(statement, object)) {
        statement.operands.push_back(object.generation);
      }
    }
  }

  /// What must stand in front of a statement; a loop's writes are waited for in front of the loop.
  void before(const Statement& statement, Statements& into, Known& known) {
    if (statement.kind == StatementKind::kReturn) return leave(into, known, statement.location);
    if (statement.kind == StatementKind::kIf) return;
    for (const Object& object : objects_) {
      if (writes(statement, object)) await(object, into, known, statement.location);
    }
  }

  void await(const Object& object, Statements& into, Known& known, const SourceLocation& location) {
    if (!has_peers_ || !known.insert(object.parameter).second) return;
    into.push_back(program_.new_op("await_done", {object.parameter->value, object.generation},
                                   {{"distance", object.distance()}, {"site", num_sites_++}},
                                   location));
  }

  void leave(Statements& into, Known known, const SourceLocation& location) {
    if (is_in_task_) return;  // the rest of the instance does, which the task has joined
    for (const Object& object : objects_) {
      if (object.is_flag()) await(object, into, known, location);
    }
    for (const Object& object : objects_) {
      into.push_back(
          program_.new_op("leave", {object.parameter->value, object.generation}, {}, location));
    }
  }

  Known all() const {
    Known known;
    for (const Object& object : objects_) known.insert(object.parameter);
    return known;
  }

  Program& program_;
  bool has_peers_;
  std::vector<Object> objects_;
  std::int64_t num_sites_ = 0;
  bool is_in_task_ = false;
};

}  // namespace

Program insert_launch_states(Program program, const Target& target) {
  LaunchStates(program, target).run();
  return program;
}

}  // namespace tilewire

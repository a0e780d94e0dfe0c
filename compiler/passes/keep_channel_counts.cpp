#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/ops/channel_access.h"
#include "compiler/ops/op.h"
#include "compiler/passes/bounds.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// Registers are dear: each slot takes about eight.
constexpr std::size_t kMaxKept = 8;

bool is_channel_op(const Statement& statement) {
  return statement.kind == StatementKind::kOp &&
         (statement.is("channel_send") || statement.is("channel_recv") ||
          statement.is("channel_exchange"));
}

/// One end of one slot, as a statement names it.
struct End {
  const OpInfo* op = nullptr;
  Value* channel = nullptr;
  Value* rank = nullptr;
  Value* slot = nullptr;
  Value* predicate = nullptr;
  auto key() const { return std::tie(op, channel, rank, slot, predicate); }
  bool operator==(const End& other) const { return key() == other.key(); }

  static End of(const Statement& statement) {
    const ObjectAccess access = ObjectAccess::of(statement);
    return {statement.op, access.channel, access.rank, access.slot, access.predicate};
  }
  std::vector<Value*> values() const {
    std::vector<Value*> all = {slot};
    for (Value* each : {rank, predicate}) {
      if (each != nullptr) all.push_back(each);
    }
    return all;
  }
};

/// The statements that use one end, and the loops around the first of them.
struct Users {
  End end;
  std::vector<Statement*> statements;
  std::vector<const Statement*> loops;
};

class Keeper {
 public:
  explicit Keeper(Program& program) : program_(program), bounds_(program) {}

  void run() {
    collect(program_.body);
    std::vector<Users> kept;
    for (const Users& users : ends_) {
      if (can_keep(users)) {
        kept.push_back(users);
      } else if (is_first_of_launch(users)) {
        users.statements.front()->attributes["first"] = true;
      }
    }
    if (kept.empty() || kept.size() > kMaxKept) return;
    close(program_.body, true);
    open(kept);
  }

 private:
  void collect(Region& region) {
    for (auto& statement : region.statements) {
      if (is_channel_op(*statement)) {
        const End end = End::of(*statement);
        auto found = std::ranges::find(ends_, end, &Users::end);
        if (found == ends_.end()) found = ends_.insert(ends_.end(), {end, {}, loops_});
        found->statements.push_back(statement.get());
      }
      const bool is_loop =
          statement->kind == StatementKind::kFor || statement->kind == StatementKind::kWhile;
      if (is_loop) loops_.push_back(statement.get());
      for (Region& inner : statement->regions) collect(inner);
      if (is_loop) loops_.pop_back();
    }
  }

  /// No other statement may use the same slot under another name, and the slot is known from the
  /// start.
  bool can_keep(const Users& users) {
    for (const Users& other : ends_) {
      const bool may_clash = other.end.op == users.end.op &&
                             other.end.channel == users.end.channel && !(other.end == users.end);
      if (may_clash && !are_apart(users.end, other.end)) return false;
    }
    if (!std::ranges::all_of(users.end.values(),
                             [this](const Value* value) { return is_known_at_start(value); })) {
      return false;
    }
    // What one exchange of an element proves, it proves to the thread that has the element.
    const auto types = [](const Statement& statement) {
      std::vector<Type> result;
      for (const Value* value : ObjectAccess::of(statement).values) result.push_back(value->type);
      return result;
    };
    return std::ranges::all_of(users.statements, [&](const Statement* statement) {
      return !statement->is("channel_exchange") ||
             types(*statement) == types(*users.statements.front());
    });
  }

  /// The only statement of its channel, whose slot is another one in each iteration: no exchange of
  /// the slot comes before it in a launch.
  bool is_first_of_launch(const Users& users) {
    const auto is_of_channel = [&](const Users& other) {
      return other.end.channel == users.end.channel;
    };
    if (!users.statements.front()->is("channel_exchange") || users.statements.size() > 1 ||
        std::ranges::count_if(ends_, is_of_channel) > 1 || users.loops.size() > 1) {
      return false;
    }
    if (users.loops.empty()) return true;
    const Statement& loop = *users.loops.front();
    if (loop.kind != StatementKind::kFor) return false;
    const Value* index = loop.body().arguments.at(0);
    const Linear slot = bounds_.linear(users.end.slot);
    return slot.terms.contains(index) && std::ranges::all_of(slot.terms, [&](const auto& term) {
             return term.first == index || is_known_at_start(term.first);
           });
  }

  bool are_apart(const End& a, const End& b) {
    std::int64_t rank_a = 0;
    std::int64_t rank_b = 0;
    const bool are_ranks_known = a.rank != nullptr && b.rank != nullptr &&
                                 is_integer_constant(a.rank, rank_a) &&
                                 is_integer_constant(b.rank, rank_b);
    if (are_ranks_known && rank_a != rank_b) return true;
    const Linear first = bounds_.linear(a.slot);
    const Linear second = bounds_.linear(b.slot);
    return first.terms == second.terms && first.constant != second.constant;
  }

  bool is_known_at_start(const Value* value) const {
    const Statement* definition = value->definition;
    if (definition == nullptr) {
      return std::ranges::find(program_.body.arguments, value) != program_.body.arguments.end();
    }
    return definition->kind == StatementKind::kOp && definition->op->effect == Effect::kPure &&
           value->type.is_scalar() &&
           std::ranges::all_of(definition->operands, [this](const Value* operand) {
             return operand->type.is_scalar() && is_known_at_start(operand);
           });
  }

  /// Before each end of the kernel.
  void close(Region& region, bool is_body) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) close(inner, false);
      if (statement->kind == StatementKind::kReturn) append_close(region, statement->location);
      region.statements.push_back(std::move(statement));
    }
    const bool has_returned =
        !region.statements.empty() && region.statements.back()->kind == StatementKind::kReturn;
    if (is_body && !has_returned) append_close(region, region.statements.back()->location);
  }

  void append_close(Region& region, const SourceLocation& location) {
    region.statements.push_back(program_.new_op("channel_close", {}, {}, location));
  }

  /// In front of everything, with what says which slots they are.
  void open(const std::vector<Users>& kept) {
    std::set<const Statement*> early;
    for (const Users& users : kept) {
      for (const Value* value : users.end.values()) note(value, early);
    }
    Statements front;
    take(program_.body, early, front);
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const auto state = static_cast<std::int64_t>(i);
      for (Statement* statement : kept[i].statements) statement->attributes["state"] = state;
      std::vector<Value*> operands = {kept[i].end.channel, kept[i].end.slot};
      if (kept[i].end.rank != nullptr) operands.push_back(kept[i].end.rank);
      front.push_back(program_.new_op("channel_open", std::move(operands), {{"state", state}},
                                      kept[i].statements.front()->location));
    }
    Statements& body = program_.body.statements;
    body.insert(body.begin(), std::make_move_iterator(front.begin()),
                std::make_move_iterator(front.end()));
  }

  void note(const Value* value, std::set<const Statement*>& early) const {
    if (value->definition == nullptr || !early.insert(value->definition).second) return;
    for (const Value* operand : value->definition->operands) note(operand, early);
  }

  static void take(Region& region, const std::set<const Statement*>& early, Statements& into) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) take(inner, early, into);
      Statements& to = early.contains(statement.get()) ? into : region.statements;
      to.push_back(std::move(statement));
    }
  }

  Program& program_;
  Bounds bounds_;
  std::vector<Users> ends_;
  std::vector<const Statement*> loops_;  ///< around what is being collected, innermost last
};

}  // namespace

Program keep_channel_counts(Program program, const Target& target) {
  if (target.is_cuda()) Keeper(program).run();
  return program;
}

}  // namespace tilewire

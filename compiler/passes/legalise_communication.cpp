#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/ops/put.h"
#include "compiler/passes/legalise_barriers.h"
#include "compiler/passes/legalise_channels.h"
#include "compiler/passes/legalise_network.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

class Legaliser {
 public:
  Legaliser(Program& program, const Target& target)
      : program_(program), target_(target), network_(program, target) {}

  void run() { region(program_.body); }

 private:
  void region(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      const NetworkPlaces::Place* place = network_.find(*statement);
      replaced_.resolve_all(statement->operands);
      if (place != nullptr) {
        network_.legalise(*statement, *place, program_, region.statements);
        removed_.push_back(std::move(statement));
      } else if (statement->is("barrier")) {
        barrier(*statement, region.statements);
      } else if (statement->is("at")) {
        at(std::move(statement), region.statements);
      } else if (statement->kind == StatementKind::kOp && statement->flag("multicast")) {
        region.statements.push_back(std::move(statement));  // choose_multimem has seen to it
      } else if (statement->is("all_reduce_load")) {
        all_reduce_load(std::move(statement), region.statements);
      } else if (statement->is("reduce_store")) {
        reduce_store(*statement, region.statements);
      } else if (statement->is("flush")) {
        flush(*statement, region.statements);
      } else if (statement->is("get")) {  // in reach of loads
        region.statements.push_back(
            program_.new_op("put", statement->operands, {}, statement->location));
        removed_.push_back(std::move(statement));
      } else if (statement->is("is_lsa")) {
        is_lsa(std::move(statement), region.statements);
      } else if (statement->is("send") || statement->is("recv") || statement->is("exchange")) {
        message(std::move(statement), region.statements);
      } else if (statement->kind == StatementKind::kIf) {
        branches(*statement);
        region.statements.push_back(std::move(statement));
      } else {
        for (Region& inner : statement->regions) this->region(inner);
        if (statement->op != nullptr && statement->op->wait_site != nullptr) {
          statement->attributes["site"] = num_sites_++;
        }
        if (statement->is("wait") && statement->operands[0]->type.memory == Memory::kSemaphore) {
          mark_network(*statement);
        }
        region.statements.push_back(std::move(statement));
      }
    }
  }

  void branches(Statement& statement) {
    const std::size_t num_reachable = reachable_.size();
    const std::size_t num_far = far_.size();
    add_tested(statement.operands[0], true);
    region(statement.regions[0]);
    reachable_.resize(num_reachable);
    far_.resize(num_far);
    add_tested(statement.operands[0], false);
    region(statement.regions[1]);
    reachable_.resize(num_reachable);
    far_.resize(num_far);
  }

  /// In reach of loads and stores a source has been read when its put is over.
  void flush(const Statement& statement, Statements& into) const {
    if (!has_far_ranks(target_) || !target_.gin) return;
    into.push_back(program_.new_op("network_flush", {}, {}, statement.location));
  }

  void mark_network(Statement& statement) const {
    if (has_far_ranks(target_) && target_.gin) statement.attributes["network"] = true;
  }

  void barrier(const Statement& statement, Statements& into) {
    Inserter insert(program_, into, statement.location);
    num_sites_ += legalise_barrier(statement, target_, num_sites_, insert);
  }

  void message(std::unique_ptr<Statement> statement, Statements& into) {
    Inserter insert(program_, into, statement->location);
    if (const auto values = without_message(*statement, target_, insert)) {
      for (std::size_t i = 0; i < values->size(); ++i) {
        replaced_.replace(statement->results[i], (*values)[i]);
      }
      removed_.push_back(std::move(statement));
      return;
    }
    statement->attributes["site"] = num_sites_++;
    mark_network(*statement);
    into.push_back(std::move(statement));
  }

  /// A rank of the world is in this one's LSA team where their quotients by its size are equal.
  void is_lsa(std::unique_ptr<Statement> statement, Statements& into) {
    Inserter insert(program_, into, statement->location);
    Value* rank = statement->operands[0];
    if (target_.lsa_size == target_.world_size) {
      replaced_.replace(statement->result(), insert.constant(true, DType::kBool));
      removed_.push_back(std::move(statement));
      return;
    }
    Value* is_member = is_in_reach(rank, target_, insert);
    tested_[is_member] = rank;
    replaced_.replace(statement->result(), is_member);
    removed_.push_back(std::move(statement));
  }

  /// The ranks that are known to be reached, or not to be, where a condition holds or doesn't.
  void add_tested(const Value* condition, bool holds) {
    const auto found = tested_.find(condition);
    if (found != tested_.end()) (holds ? reachable_ : far_).push_back(found->second);
    const Statement* definition = condition->definition;
    if (definition == nullptr) return;
    if (definition->is("not")) return add_tested(definition->operands[0], !holds);
    if (!definition->is(holds ? "and" : "or")) return;
    for (const Value* part : definition->operands) add_tested(part, holds);
  }

  static bool is_among(const Value* rank, const std::vector<const Value*>& ranks) {
    std::int64_t number = 0;
    const bool is_constant = is_integer_constant(rank, number);
    return std::ranges::any_of(ranks, [&](const Value* tested) {
      std::int64_t other = 0;
      return tested == rank ||
             (is_constant && is_integer_constant(tested, other) && other == number);
    });
  }

  void at(std::unique_ptr<Statement> statement, Statements& into) {
    const std::string team = statement->text("team");
    Value* rank = statement->operands[1];
    Inserter insert(program_, into, statement->location);
    if (has_far_ranks(target_) && statement->result()->type.memory == Memory::kChannel) {
      statement->operands[1] = world_rank_of(rank, team, target_, insert);
      statement->attributes["team"] = std::string("network");
      into.push_back(std::move(statement));
      return;
    }
    if (has_far_ranks(target_) && team != "lsa") {
      if (team == "rail" || !is_among(rank, reachable_)) {
        network_.add(*statement, team != "rail" && is_among(rank, far_));
        replaced_.replace(statement->result(), statement->operands[0]);
        removed_.push_back(std::move(statement));
        return;
      }
      statement->operands[1] = insert.op("mod", {rank, insert.constant(target_.lsa_size)});
    }
    if (target_.lsa_size == 1 || team == "rail") {  // only this rank can be meant
      replaced_.replace(statement->result(), statement->operands[0]);
      removed_.push_back(std::move(statement));
      return;
    }
    statement->attributes["team"] = std::string("lsa");
    into.push_back(std::move(statement));
  }

  /// Ranks of the team of a sum, which loads and stores reach.
  int team_of_sum(const Statement& statement) const {
    if (statement.text("team") == "lsa" || target_.lsa_size == target_.world_size) {
      return target_.lsa_size;
    }
    throw UserError(
        fmt::format("{}: team=\"world\" has ranks that loads and stores don't reach on `{}` (teams "
                    "of {} in a world of {}); supported is team=\"lsa\"",
                    statement.op->name, target_.to_string(), target_.lsa_size, target_.world_size),
        statement.location);
  }

  Value* copy_at(Value* view, Value* rank, Inserter& insert) const {
    return target_.lsa_size == 1 ? view
                                 : insert.op("at", {view, rank}, {{"team", std::string("lsa")}});
  }

  /// The op that reduces two copies.
  static std::string elementwise_of(const Statement& reduction) {
    const std::string operation = operation_of(reduction);
    return operation == "min" ? "minimum" : operation == "max" ? "maximum" : operation;
  }

  /// All loads first, so that they are under way together; then the sum, in rank order.
  void all_reduce_load(std::unique_ptr<Statement> statement, Statements& into) {
    Inserter insert(program_, into, statement->location);
    const DType dtype = statement->result()->type.dtype;
    const DType computed_in = is_fp8(dtype) ? DType::kF32 : dtype;  // minima and maxima: exact
    const auto to = [&insert](Value* value, DType wanted) {
      if (value->type.dtype == wanted) return value;
      return insert.op("cast", {value}, {{"dtype", wanted}});
    };
    std::vector<Value*> copies;
    for (int rank = 0; rank < team_of_sum(*statement); ++rank) {
      Value* view = copy_at(statement->operands[0], insert.constant(rank), insert);
      copies.push_back(insert.op("load", {view}));
    }
    Value* sum = nullptr;
    for (Value* loaded : copies) {
      Value* copy = to(loaded, computed_in);
      sum = sum == nullptr ? copy : insert.op(elementwise_of(*statement), {sum, copy});
    }
    replaced_.replace(statement->result(), to(sum, dtype));
    removed_.push_back(std::move(statement));
  }

  /// Each rank begins with its own copy, so that not all add to one at a time.
  void reduce_store(const Statement& statement, Statements& into) {
    Inserter insert(program_, into, statement.location);
    const int num_ranks = team_of_sum(statement);
    Value* own = num_ranks == 1 ? nullptr : insert.op("rank", {}, {{"team", std::string("lsa")}});
    for (int i = 0; i < num_ranks; ++i) {
      Value* rank = own;
      if (i > 0) {
        rank = insert.op("mod",
                         {insert.op("add", {own, insert.constant(i)}), insert.constant(num_ranks)});
      }
      Value* view = copy_at(statement.operands[0], rank, insert);
      insert.op("atomic", {view, statement.operands[1]},
                {{"kind", operation_of(statement)},
                 {"order", std::string("relaxed")},
                 {"scope", std::string(num_ranks == 1 ? "gpu" : "system")}});
    }
  }

  Program& program_;
  const Target& target_;
  NetworkPlaces network_;
  Replacements replaced_;
  std::unordered_map<const Value*, const Value*> tested_;  ///< result of is_lsa → the rank
  std::vector<const Value*> reachable_;  ///< ranks that an enclosing if has tested
  std::vector<const Value*> far_;        ///< those that it has found out of reach
  Statements removed_;                   ///< kept, so that no new statement takes their address
  std::int64_t num_sites_ = 0;
};

}  // namespace

Program legalise_communication(Program program, const Target& target) {
  Legaliser(program, target).run();
  return program;
}

}  // namespace tilewire

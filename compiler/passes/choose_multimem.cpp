#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "compiler/ops/multimem.h"
#include "compiler/ops/op.h"
#include "compiler/ops/put.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// What may look at all copies at once: parts of the view, and what reads and writes them.
constexpr std::array kTakesMulticast = {"slice",       "view",   "permute", "field",
                                        "extent",      "inside", "store",   "all_reduce_load",
                                        "reduce_store"};

MultimemUse use_of(const Statement& reduction) {
  return reduction.is("all_reduce_load") ? MultimemUse::kLoad : MultimemUse::kStore;
}

bool is_reduction(const Statement& statement) {
  return statement.is("all_reduce_load") || statement.is("reduce_store");
}

/// What a program meant to write instead of an op that takes no multicast view.
std::string_view instead_of(const Statement& statement) {
  if (statement.is("load")) {
    return "reading it is a reduction: use tw.all_reduce_load(x.multicast()[…], op=\"add\"), or "
           "load one copy, x[…] or x.at(r)[…]";
  }
  if (statement.is("atomic")) {
    return "what was there before differs from copy to copy: use "
           "tw.reduce_store(x.multicast()[…], tile), which gives nothing";
  }
  if (statement.is("put") || statement.is("put_value")) return "use tw.store to write to all";
  return "it is written by tw.store and tw.reduce_store, and read by tw.all_reduce_load";
}

class MultimemChoice {
 public:
  MultimemChoice(Program& program, const Target& target) : program_(program), target_(target) {}

  void run() { region(program_.body); }

 private:
  void region(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      replaced_.resolve_all(statement->operands);
      for (Region& inner : statement->regions) this->region(inner);
      if (statement->kind == StatementKind::kOp && !op(*statement, region.statements)) {
        removed_.push_back(std::move(statement));
        continue;
      }
      region.statements.push_back(std::move(statement));
    }
  }

  /// False: the statement isn't needed any more.
  bool op(Statement& statement, Statements& into) {
    if (statement.is("multicast")) {
      if (target_.lsa_size > 1) return require_multimem(statement), true;
      replaced_.replace(statement.result(), statement.operands[0]);  // the only copy
      return false;
    }
    const Statement* multicast = nullptr;
    for (const Value* operand : statement.operands) {
      if (multicast == nullptr && operand->type.is_view()) multicast = multicast_behind(operand);
    }
    if (multicast != nullptr) {
      check_use(statement);
    } else if (statement.is("all_reduce_load") && statement.flag("multicast")) {
      load_only_copy(statement, into);
      return false;
    } else if (is_reduction(statement)) {
      statement.attributes.erase("multicast");
      choose(statement, into);
    }
    return true;
  }

  void load_only_copy(const Statement& statement, Statements& into) {
    Inserter insert(program_, into, statement.location);
    Value* loaded = insert.op("load", {statement.operands[0]});
    const DType dtype = statement.result()->type.dtype;
    if (loaded->type.dtype != dtype) loaded = insert.op("cast", {loaded}, {{"dtype", dtype}});
    replaced_.replace(statement.result(), loaded);
  }

  void require_multimem(const Statement& multicast) const {
    if (target_.lsa_size < target_.world_size && multicast.text("team") != "lsa") {
      throw UserError(
          fmt::format("multicast: a multicast address reaches the {} ranks of an LSA team, not all "
                      "{} of the world, on `{}`; write `.multicast(team=tw.lsa)`, and add up over "
                      "the teams",
                      target_.lsa_size, target_.world_size, target_.to_string()),
          multicast.location);
    }
    if (target_.multimem) return;
    throw UserError(
        fmt::format("multicast: there is no multimem on `{}`; ask `if tw.target.multimem:`, or "
                    "leave .multicast() out: tw.all_reduce_load(x[…], order=\"any\") and "
                    "tw.reduce_store(x[…], tile) use it where it is",
                    target_.to_string()),
        multicast.location);
  }

  void check_use(Statement& statement) const {
    if (std::ranges::find(kTakesMulticast, statement.op->name) == kTakesMulticast.end()) {
      throw UserError(
          fmt::format("{}: .multicast() means all copies at once; {}",
                      name_in_program(*statement.op, statement.attributes), instead_of(statement)),
          statement.location);
    }
    if (!is_reduction(statement)) return;
    statement.attributes["multicast"] = true;
    const DType dtype = statement.operands[0]->type.dtype;
    const std::string operation = operation_of(statement);
    if (has_multimem(target_, dtype, operation, use_of(statement))) return;
    throw UserError(
        fmt::format("{}: multimem has no {} of {} on {}; it has {}. Without .multicast(), copies "
                    "are {} one by one",
                    statement.op->name, operation, name_of(dtype), target_.architecture,
                    multimem_of(target_, use_of(statement)),
                    statement.is("all_reduce_load") ? "loaded" : "changed"),
        statement.location);
  }

  /// A reduction in any order over copies that one multicast address reaches. Of floats, those that
  /// compare are left to loads and atomics, where NaN wins; so are sums of 8-bit floats, which come
  /// rounded to 8 bits from the switch.
  void choose(Statement& statement, Statements& into) {
    const bool is_one_team =
        statement.text("team") == "lsa" || target_.lsa_size == target_.world_size;
    const DType dtype = statement.operands[0]->type.dtype;
    const std::string operation = operation_of(statement);
    if (statement.text("order") != "any" || !is_one_team || target_.lsa_size == 1 ||
        (is_float(dtype) && operation != "add") || is_fp8(dtype) ||
        !has_multimem(target_, dtype, operation, use_of(statement))) {
      return;
    }
    Inserter insert(program_, into, statement.location);
    statement.operands[0] =
        insert.op("multicast", {statement.operands[0]}, {{"team", statement.text("team")}});
    statement.attributes["multicast"] = true;
  }

  Program& program_;
  const Target& target_;
  Replacements replaced_;
  Statements removed_;  ///< kept, so that no new statement takes their address
};

}  // namespace

Program choose_multimem(Program program, const Target& target) {
  MultimemChoice(program, target).run();
  return program;
}

}  // namespace tilewire

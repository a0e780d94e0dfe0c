#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ops/op.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// Those that say where a place is or ask how large it is, and do nothing to it.
constexpr std::array<std::string_view, 7> kOnlyNamePlaces = {"at",    "slice",  "view",  "permute",
                                                             "field", "extent", "inside"};

bool uses_places(const Statement& statement) {
  return std::ranges::find(kOnlyNamePlaces, statement.op->name) == kOnlyNamePlaces.end();
}

int size_of(std::string_view team, const Target& target) {
  if (team == "lsa") return target.lsa_size;
  return team == "rail" ? target.world_size / target.lsa_size : target.world_size;
}

/// Whether what carries out an op at this place on the CPU, by loads and stores or over the
/// network, finds that the team has no such rank.
bool is_checked_later(const Statement& at, const Target& target) {
  if (target.is_cuda()) return false;
  const std::string& team = at.text("team");
  if (team == "rail") return false;
  if (team != "lsa") return target.world_size > 1;
  const bool is_by_world_rank =
      target.lsa_size < target.world_size && at.result()->type.memory == Memory::kChannel;
  return target.lsa_size > 1 && !is_by_world_rank;
}

class RankChecks {
 public:
  RankChecks(Program& program, const Target& target) : program_(program), target_(target) {}

  void region(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) this->region(inner);
      if (statement->kind == StatementKind::kOp && uses_places(*statement)) {
        for (const Value* operand : statement->operands) {
          check(operand, *statement, region.statements);
        }
      }
      region.statements.push_back(std::move(statement));
    }
  }

 private:
  void check(const Value* view, const Statement& use, Statements& into) {
    if (!view->type.is_view()) return;
    const Statement* at = nullptr;
    const Value* base = view;
    for (; base->definition != nullptr; base = base->definition->operands.at(0)) {
      if (base->definition->is("at")) at = base->definition;
    }
    if (at == nullptr || is_checked_later(*at, target_)) return;
    const std::string& team = at->text("team");
    const std::int64_t size = size_of(team, target_);
    Value* rank = at->operands.at(1);
    std::int64_t known = 0;
    if (is_integer_constant(rank, known) && known >= 0 && known < size) return;
    Inserter insert(program_, into, use.location);
    Value* exists = insert.op("and", {insert.op("le", {insert.constant(0), rank}),
                                      insert.op("lt", {rank, insert.constant(size)})});
    const bool is_world = team.empty() || team == "world";
    const std::string message = fmt::format(
        "{}: `{}.at(r{})`: {} no rank r; keep r in it, by `r % tw.world_size({})` or under an `if`",
        name_in_program(*use.op, use.attributes), base->name, is_world ? "" : ", team=tw." + team,
        is_world        ? "the world has"
        : team == "lsa" ? "the LSA team has"
                        : "the rail has",
        is_world ? "" : "tw." + team);
    std::vector<Value*> operands = {exists, rank};
    const bool is_ranked = target_.world_size > 1;
    if (is_ranked) {
      Value* own = insert.op("rank", {}, {{"team", std::string("world")}});
      operands.insert(operands.begin(), own);
    }
    insert.append(program_.new_op("assert", std::move(operands),
                                  {{"text", fmt::format("r = {{}}, ranks are 0 to {}", size - 1)},
                                   {"message", message},
                                   {"ranked", is_ranked}},
                                  use.location));
  }

  Program& program_;
  const Target& target_;
};

}  // namespace

Program check_ranks(Program program, const Target& target) {
  RankChecks(program, target).region(program.body);
  return program;
}

}  // namespace tilewire

#include <algorithm>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/program_slice.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/uniformity.h"

namespace tilewire {
namespace {

constexpr std::int64_t kSwizzleRows = 8;  // rows of a panel that a swizzle repeats after

class Sharer {
 public:
  explicit Sharer(Program& program)
      : program_(program), uniformity_(program, program.cluster_size) {
    for_each_statement(program.body,
                       [this](const Statement& each) { has_acquire_ |= is_acquire(each); });
  }

  /// Whether any operand is shared.
  bool run() {
    if (!fill_alike(program_.body) || !mark(program_.body)) return false;
    fill_up(program_.body);
    return true;
  }

 private:
  /// Whether all instances of a cluster fill equally many slots, if one that skips a branch fills
  /// those of the branch all the same.
  bool fill_alike(const Region& region) {
    return std::ranges::all_of(region.statements, [this](const auto& statement) {
      if (statement->kind == StatementKind::kOp) return true;
      if (!std::ranges::any_of(statement->regions, has_staged_product)) return true;
      const bool is_guard = statement->kind == StatementKind::kIf && statement->results.empty() &&
                            !has_staged_product(statement->regions.at(1));
      if (!uniformity_.runs_alike(*statement) && !is_guard) return false;
      return std::ranges::all_of(statement->regions,
                                 [this](const Region& inner) { return fill_alike(inner); });
    });
  }

  /// Operands that all of a cluster read from the same place are shared.
  bool mark(Region& region) {
    bool any = false;
    for (auto& statement : region.statements) {
      for (Region& inner : statement->regions) any |= mark(inner);
      if (!statement->is("operand_load") || !can_share(*statement)) continue;
      statement->attributes["shared"] = true;
      any = true;
    }
    return any;
  }

  bool can_share(const Statement& load) {
    const MapAccess access = MapAccess::of(load);
    // What one instance has waited for, the others that load for it have not.
    if (has_acquire_ && !is_constant(access.parameter)) return false;
    const std::size_t outer = access.is_contiguous_along(1) ? 0 : 1;
    if (access.shape.at(outer) % (kSwizzleRows * program_.cluster_size) != 0) return false;
    return access.rank == nullptr &&
           std::ranges::all_of(access.coordinates, [this](const Value* coordinate) {
             return uniformity_.is_uniform(coordinate);
           });
  }

  bool is_constant(const Value* parameter) const {
    return std::ranges::any_of(program_.parameters, [&](const Parameter& each) {
      return each.value == parameter && each.is_constant;
    });
  }

  /// Who doesn't take a branch fills and skips the slots of its products: others count on the part
  /// of shared operands that it loads.
  void fill_up(Region& region) {
    for (auto& statement : region.statements) {
      if (statement->kind == StatementKind::kOp) continue;
      for (Region& inner : statement->regions) fill_up(inner);
      if (statement->kind != StatementKind::kIf || uniformity_.runs_alike(*statement)) continue;
      if (has_staged_product(statement->regions.at(0))) skip_products(*statement);
    }
  }

  void skip_products(Statement& guard) {
    Replacements mapping;
    Region skipped;
    skipped.statements = clone_statements(program_, guard.regions.at(0), mapping);
    replace_products(skipped);
    keep_slice(skipped, [](const Statement& statement) { return statement.is("skip_product"); });
    Region& other = guard.regions.at(1);
    skipped.statements.pop_back();  // its yield
    other.statements.insert(other.statements.begin(),
                            std::make_move_iterator(skipped.statements.begin()),
                            std::make_move_iterator(skipped.statements.end()));
  }

  /// What was computed from the products is still there, and is left out later.
  void replace_products(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      for (Region& inner : statement->regions) replace_products(inner);
      if (is_staged(*statement)) {
        const auto first =
            statement->operands.begin() + static_cast<long>(first_staged_operand(*statement));
        region.statements.push_back(program_.new_op(
            "skip_product", {first, statement->operands.begin() + 2}, {}, statement->location));
      }
      region.statements.push_back(std::move(statement));
    }
  }

  Program& program_;
  Uniformity uniformity_;
  bool has_acquire_ = false;
};

}  // namespace

Program share_operands(Program program) {
  if (program.cluster_size == 1) return program;
  if (!has_staged_product(program.body) || !Sharer(program).run()) program.cluster_size = 1;
  return program;
}

}  // namespace tilewire

#include "compiler/codegen/cuda/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/schedule.h"
#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

bool is_of(const Value* value, Layout::Kind kind) {
  return value->type.is_tile() && value->type.layout.kind == kind;
}

bool is_of_rows(const Statement& statement) {
  return statement.is("tile_load") && goes_as_rows(statement);
}

std::ptrdiff_t num_tiles(const Statement& statement) {
  return std::ranges::count_if(statement.operands,
                               [](const Value* value) { return value->type.is_tile(); });
}

/// Whether it is an expression of the templates over elements.
bool is_expression(const Statement& statement) {
  return statement.op->is_elementwise && !statement.is("inline_cuda");
}

/// Whether a statement computes each element of its result from one of its only tile, or repeats an
/// element per column.
bool goes_on(const Statement& statement, int num_threads) {
  if (statement.kind != StatementKind::kOp || statement.results.size() != 1) return false;
  if (shared_bytes_of(statement, num_threads) > 0) return false;
  if (statement.is("reshape")) return true;
  if (statement.is("broadcast")) return is_of(statement.result(), Layout::Kind::kFragment);
  return is_expression(statement) && num_tiles(statement) == 1;
}

/// Whether it computes a tile like a product's from several.
bool combines(const Statement& statement) {
  return statement.kind == StatementKind::kOp && statement.results.size() == 1 &&
         is_expression(statement) && num_tiles(statement) > 1 &&
         is_of(statement.result(), Layout::Kind::kFragment);
}

/// Whether what is read in front of a statement may as well be read behind it.
bool lets_by(const Statement& statement) {
  return statement.kind == StatementKind::kOp &&
         (statement.op->effect == Effect::kPure || statement.op->effect == Effect::kReads);
}

class Planner {
 public:
  Planner(const Program& program, bool are_rows_dear)
      : program_(program), are_rows_dear_(are_rows_dear) {
    for_each_statement(program.body, [this](const Statement& statement) {
      for (const Value* value : statement.operands) users_[value].push_back(&statement);
    });
  }

  PiecePlan plan() {
    visit(program_.body);
    return std::move(plan_);
  }

 private:
  void visit(const Region& region) {
    const auto order = schedule(region, program_.num_threads);
    for (auto it = order.begin(); it != order.end(); ++it) {
      for (const Region& inner : (*it)->regions) visit(inner);
      // Columns are read where the load stands.
      const bool comes_later = are_rows_dear_ && is_of_rows(**it);
      if (!comes_later && !is_of_columns(**it)) continue;
      std::set<const Value*> parts;
      const Statement* end = end_of((*it)->result(), parts);
      const auto place = std::find(it, order.end(), end);
      if (end == nullptr || place == order.end()) continue;
      if (comes_later &&
          !std::all_of(it + 1, place, [](const Statement* between) { return lets_by(*between); })) {
        continue;
      }
      plan_.in_pieces.merge(parts);
      plan_.computed.insert(end->result());
    }
  }

  /// The statement that the expression around `value` ends with; null: there is none.
  const Statement* end_of(const Value* value, std::set<const Value*>& parts) const {
    while (true) {
      parts.insert(value);
      const auto users = users_.find(value);
      if (users == users_.end() || users->second.size() != 1) return nullptr;
      const Statement& user = *users->second.front();
      if (combines(user)) return &user;
      if (!goes_on(user, program_.num_threads)) return nullptr;
      value = user.result();
    }
  }

  const Program& program_;
  bool are_rows_dear_;
  std::map<const Value*, std::vector<const Statement*>> users_;
  PiecePlan plan_;
};

}  // namespace

bool is_of_columns(const Statement& statement) {
  if (!statement.is("tile_load") || !is_of(statement.result(), Layout::Kind::kFragmentPerColumn)) {
    return false;
  }
  const TileAccess access = TileAccess::of(statement);
  const DType dtype = statement.result()->type.dtype;
  return access.dimensions.size() == 1 && access.where == nullptr && access.other == nullptr &&
         access.offsets == nullptr &&
         (num_bytes(dtype) == 4 || dtype == DType::kBF16 || dtype == DType::kF16);
}

PiecePlan plan_pieces(const Program& lowered, bool are_rows_dear) {
  return Planner(lowered, are_rows_dear).plan();
}

void CudaEmitter::define_in_pieces(const Value* result, const std::string& text,
                                   std::string_view hint) {
  include("pieces.cuh");
  const std::string name = variable(result, hint);
  statement(fmt::format("const auto {} = {};", name, text));
}

}  // namespace tilewire

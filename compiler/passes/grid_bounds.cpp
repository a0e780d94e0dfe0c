#include "compiler/passes/grid_bounds.h"

#include <algorithm>
#include <optional>

#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/passes/bounds.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// Window shapes are equal on all ranks, tensor shapes may differ.
bool is_of_window(const Program& program, const std::string& name) {
  for (const Parameter& parameter : program.parameters) {
    if (parameter.kind != Parameter::Kind::kWindow) continue;
    for (const Dimension& dimension : parameter.shape) {
      if (dimension.size == kDynamic && dimension.name == name) return true;
    }
  }
  return false;
}

/// A dimension that has one extent on all ranks.
std::optional<int> shared_dimension(const Program& program, const Value* count) {
  for (std::size_t i = 0; i < program.dimensions.size(); ++i) {
    const auto& [name, value] = program.dimensions[i];
    if (value != count) continue;
    if (program.world_size > 1 && !is_of_window(program, name)) return {};
    return static_cast<int>(i);
  }
  return {};
}

const Statement* op_of(const Value* value, std::string_view name) {
  return value->definition != nullptr && value->definition->is(name) ? value->definition : nullptr;
}

/// The bound of a persistent loop as a dimension, as `cdiv` of one, or as a number.
std::optional<GridBound> bound_of(const Program& program, const Value* count) {
  std::int64_t number = 0;
  if (is_integer_constant(count, number)) return GridBound{GridBound::kNone, std::max(number, {1})};
  if (const auto dimension = shared_dimension(program, count)) return GridBound{*dimension, 1};
  const Statement* quotient = op_of(count, "floordiv");
  std::int64_t divisor = 0;
  if (quotient == nullptr || !is_integer_constant(quotient->operands[1], divisor)) return {};
  const Statement* sum = op_of(quotient->operands[0], "add");
  std::int64_t rest = 0;
  if (sum == nullptr || !is_integer_constant(sum->operands[1], rest)) return {};
  const auto dimension = shared_dimension(program, sum->operands[0]);
  if (!dimension || divisor < 1 || rest != divisor - 1) return {};
  return GridBound{*dimension, divisor};
}

/// More instances than the largest of these would find nothing to do; empty: no bound.
std::vector<GridBound> useful_grid(const Program& program) {
  std::vector<GridBound> found;
  bool is_bounded = true;
  for_each_statement(program.body, [&](const Statement& statement) {
    if (statement.is("program_id") || statement.is("num_programs") || statement.is("next_index")) {
      is_bounded = false;
    }
    if (statement.kind != StatementKind::kFor || statement.iterate() != Iterate::kPersistent) {
      return;
    }
    const std::optional<GridBound> bound = bound_of(program, statement.operands[1]);
    if (!bound) {
      is_bounded = false;
    } else if (std::ranges::find(found, *bound) == found.end()) {
      found.push_back(*bound);
    }
  });
  std::ranges::sort(found, [](const GridBound& a, const GridBound& b) {
    return std::pair(a.dimension, a.number) < std::pair(b.dimension, b.number);
  });
  return is_bounded ? found : std::vector<GridBound>();
}

/// The program id at which an index runs out of its extent: of indices that are the id, or lie a
/// constant above it.
void bound_by_objects(Region& region, Bounds& bounds, std::int64_t& most) {
  for (const auto& statement : region.statements) {
    // Under a condition an instance may know better.
    if (statement->kind == StatementKind::kIf) continue;
    for (Region& inner : statement->regions) bound_by_objects(inner, bounds, most);
    if (!statement->is("slice") || !statement->operands[0]->type.is_object()) continue;
    const std::vector<SliceIndex> indices = slice_indices(*statement);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::int64_t extent = statement->operands[0]->type.shape[i];
      if (indices[i].kind != SliceIndex::Kind::kAt || extent == kDynamic) continue;
      const Linear index = bounds.linear(indices[i].first);
      if (index.terms.size() != 1 || index.terms.begin()->second != 1) continue;
      const Statement* id = op_of(index.terms.begin()->first, "program_id");
      if (id == nullptr || id->integer("axis") != 0 || index.constant < 0) continue;
      const std::int64_t room = std::max<std::int64_t>(extent - index.constant, 1);
      most = most == 0 ? room : std::min(most, room);
    }
  }
}

}  // namespace

void bound_grid(Program& program) {
  program.useful_grid = useful_grid(program);
  Bounds bounds(program);
  bound_by_objects(program.body, bounds, program.max_grid);
}

}  // namespace tilewire

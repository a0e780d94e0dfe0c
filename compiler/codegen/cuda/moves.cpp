#include "compiler/codegen/cuda/moves.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/ops/layouts.h"
#include "compiler/ops/op.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

using Shape = std::vector<std::int64_t>;

/// Elements between neighbours along each dimension.
Shape strides_of(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// The number of the operand's element that is the result's first, and the steps from there.
struct Walk {
  std::int64_t first = 0;
  Shape steps;
};

Walk walk_of(const Statement& statement) {
  const Shape& shape = statement.operands.at(0)->type.shape;
  const Shape strides = strides_of(shape);
  Walk walk{0, strides};
  if (statement.is("transpose")) {
    const Shape& axes = statement.integers("axes");
    for (std::size_t i = 0; i < axes.size(); ++i) {
      walk.steps[i] = strides[static_cast<std::size_t>(axes[i])];
    }
  } else if (statement.is("part")) {
    const Shape& start = statement.integers("start");
    for (std::size_t i = 0; i < start.size(); ++i) walk.first += start[i] * strides[i];
  } else {
    const auto axis = static_cast<std::size_t>(statement.integer("axis"));
    walk.first = (shape[axis] - 1) * strides[axis];
    walk.steps[axis] = -strides[axis];
  }
  return walk;
}

/// After how many elements of the tile there is padding in shared memory; 0: there is none. What
/// goes down the columns would else meet in few banks.
int padded_row_of(const Statement& statement) {
  constexpr int kBankBytes = 128;  // of all banks
  const Type& tile = statement.operands.at(0)->type;
  const bool goes_down =
      statement.is("transpose") && statement.integers("axes").back() + 1 < tile.rank();
  if (!goes_down) return 0;
  return std::max(static_cast<int>(tile.shape.back()), kBankBytes / num_bytes(tile.dtype));
}

/// Whether nothing lies between neighbours along `axis` but what is behind it.
bool is_outermost(const Shape& shape, std::size_t axis) {
  return std::all_of(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis),
                     [](std::int64_t extent) { return extent == 1; });
}

/// Elements that one register vector of every thread holds, where two tiles of this layout that
/// follow each other by whole rounds have their elements on the same threads; else 0.
std::int64_t round_of(const Type& tile, const Type& other, int num_threads) {
  const bool is_blocked = tile.layout.kind == Layout::Kind::kBlocked;
  return is_blocked && tile.layout == other.layout ? tile.layout.vector * num_threads : 0;
}

/// Whether a `part` or `cat` of fragments is nothing but other names for registers.
bool is_of_fragments(const Statement& statement) {
  const auto is_fragment = [](const Value* tile) {
    return tile->type.layout.kind == Layout::Kind::kFragment;
  };
  return renames_fragments(statement) && is_fragment(statement.result()) &&
         std::ranges::all_of(statement.operands, is_fragment);
}

/// A part that every thread has in registers of its own, one behind the other.
bool is_part_in_registers(const Statement& statement, int num_threads) {
  const Type& tile = statement.operands.at(0)->type;
  const Shape& part = statement.result()->type.shape;
  std::size_t axis = 0;
  while (axis + 1 < part.size() && part[axis] == 1) ++axis;
  const auto behind = static_cast<std::ptrdiff_t>(axis + 1);
  const bool is_contiguous =
      std::equal(part.begin() + behind, part.end(), tile.shape.begin() + behind);
  const std::int64_t round = round_of(tile, statement.result()->type, num_threads);
  return is_contiguous && round != 0 && walk_of(statement).first % round == 0;
}

bool is_cat_in_registers(const Statement& statement, int num_threads) {
  const Type& a = statement.operands.at(0)->type;
  const Type& b = statement.operands.at(1)->type;
  const Type& result = statement.result()->type;
  const std::int64_t round = round_of(a, b, num_threads);
  return is_outermost(a.shape, static_cast<std::size_t>(statement.integer("axis"))) && round != 0 &&
         a.layout == result.layout && a.num_elements() % round == 0;
}

}  // namespace

void emit_walk_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("move.cuh");
  const Value* tile = statement.operands.at(0);
  const Value* result = statement.result();
  const Walk walk = walk_of(statement);
  const int row = padded_row_of(statement);
  emitter.define_here(
      result,
      fmt::format("tw::walk<{}, tw::Walk<{}, {}, {}>{}>({}, {})", emitter.type(result->type),
                  emitter.extents(result->type), walk.first, fmt::join(walk.steps, ", "),
                  row > 0 ? fmt::format(", {}", row) : "", emitter.argument(tile),
                  emitter.shared(statement)),
      statement.op->name);
}

void emit_part_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* result = statement.result();
  if (is_of_fragments(statement)) {
    emitter.include("fragment_columns.cuh");
    return emitter.define(
        result, fmt::format("tw::columns_from<{}, {}>({})", emitter.type(result->type),
                            walk_of(statement).first, emitter.argument(statement.operands.at(0))));
  }
  if (!is_part_in_registers(statement, emitter.num_threads())) {
    return emit_walk_cuda(statement, emitter);
  }
  emitter.include("move.cuh");
  emitter.define(result, fmt::format("tw::registers_from<{}, {}>({})", emitter.type(result->type),
                                     walk_of(statement).first / emitter.num_threads(),
                                     emitter.argument(statement.operands.at(0))));
}

void emit_cat_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* a = statement.operands.at(0);
  const Value* b = statement.operands.at(1);
  const Value* result = statement.result();
  if (is_of_fragments(statement)) {
    emitter.include("fragment_columns.cuh");
    return emitter.define(
        result,
        emitter.call(fmt::format("tw::append_columns<{}>", emitter.type(result->type)), {a, b}));
  }
  emitter.include("move.cuh");
  if (is_cat_in_registers(statement, emitter.num_threads())) {
    return emitter.define(
        result, emitter.call(fmt::format("tw::append<{}>", emitter.type(result->type)), {a, b}));
  }
  emitter.define_here(
      result,
      fmt::format("tw::cat<{}, {}, {}, {}>({}, {}, {})", emitter.type(result->type),
                  statement.integer("axis"), emitter.extents(a->type), emitter.extents(b->type),
                  emitter.argument(a), emitter.argument(b), emitter.shared(statement)),
      "joined");
}

void emit_gather_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("move.cuh");
  const Value* tile = statement.operands.at(0);
  const Value* indices = statement.operands.at(1);
  const Value* result = statement.result();
  const std::int64_t axis = statement.integer("axis");
  const std::int64_t count = result->type.shape[static_cast<std::size_t>(axis)];
  emitter.define_here(
      result,
      fmt::format("tw::gather_within<{}, {}, {}, {}>({}, {}, {})", emitter.type(result->type), axis,
                  count, emitter.extents(tile->type), emitter.argument(tile),
                  emitter.argument(indices), emitter.shared(statement)),
      "gathered");
}

int moved_bytes(const Statement& statement, int num_threads) {
  if (const int row = padded_row_of(statement); row > 0) {
    const Type& tile = statement.operands.at(0)->type;
    return device::padded_bytes(static_cast<int>(tile.num_elements()), row, num_bytes(tile.dtype));
  }
  if (is_of_fragments(statement)) return 0;
  if (statement.is("part") && is_part_in_registers(statement, num_threads)) return 0;
  if (statement.is("cat") && is_cat_in_registers(statement, num_threads)) return 0;
  int most = 0;
  for (const Value* operand : statement.operands) {
    const Type& tile = operand->type;
    most = std::max(
        most, device::piece_bytes(static_cast<int>(tile.num_elements()), num_bytes(tile.dtype)));
  }
  return most;
}

}  // namespace tilewire

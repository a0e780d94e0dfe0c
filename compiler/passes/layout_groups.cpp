#include "compiler/passes/layout_groups.h"

#include <algorithm>
#include <iterator>

#include "compiler/ops/memory.h"
#include "compiler/ops/object_access.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

constexpr int kMaxVectorBytes = 16;  // the widest load and store of one thread

std::vector<std::int64_t> without_ones(std::vector<std::int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

/// A stored scalar stands for a tile of the access's shape; its mask may still be one.
Value* with_shape(const Statement& store) {
  const TileAccess access = TileAccess::of(store);
  return access.tile->type.is_tile() || access.where == nullptr ? access.tile : access.where;
}

/// The tile that an access reads or writes; null for other ops.
Value* access_tile(const Statement& statement) {
  if (statement.is("tile_load") || statement.is("multimem_load")) return statement.result();
  for (const char* name :
       {"tile_store", "tile_atomic", "network_store", "multimem_store", "multimem_reduce"}) {
    if (statement.is(name)) return with_shape(statement);
  }
  return nullptr;
}

/// The tiles that a channel's op sends or hands out.
std::vector<Value*> message_tiles(const Statement& op) {
  std::vector<Value*> tiles;
  if (op.kind != StatementKind::kOp || !op.op->name.starts_with("channel_")) return tiles;
  for (const std::vector<Value*>* values : {&op.operands, &op.results}) {
    std::ranges::copy_if(*values, std::back_inserter(tiles),
                         [](const Value* value) { return value->type.is_tile(); });
  }
  return tiles;
}

/// How the larger tile of a reduction or a broadcast meets the smaller one; null for other ops.
std::pair<Value*, Slice> sliced_tile(const Statement& statement) {
  if (statement.kind != StatementKind::kOp) return {nullptr, Slice::kNone};
  if (statement.op->reduces_axis && statement.has("axis")) {
    Value* tile = statement.operands.at(0);
    return {tile, slice_left_by_reduction(tile->type, statement.integer("axis"))};
  }
  if (statement.is("broadcast")) {
    Value* tile = statement.result();
    return {tile, slice_repeated_by_broadcast(statement.operands.at(0)->type, tile->type)};
  }
  return {nullptr, Slice::kNone};
}

}  // namespace

int LayoutGroup::vector(bool by_access) const {
  int bytes = smallest_bytes;
  for (const Value* tile : tiles) {
    if (smallest_bytes != 0) break;
    const int computed = num_bytes(compute_dtype(tile->type.dtype));
    bytes = bytes == 0 ? computed : std::min(bytes, computed);
  }
  int vector = kMaxVectorBytes / bytes;
  if (by_access && vector_limit != 0 && !is_message) vector = std::min(vector, vector_limit);
  const std::vector<std::int64_t> extents = without_ones(tiles.front()->type.shape);
  while (!extents.empty() && extents.back() % vector != 0) vector /= 2;
  return extents.empty() ? 1 : vector;
}

LayoutGroups::LayoutGroups(Program& program) {
  connect(program.body);
  collect(program.body);
  for_each_statement(program.body, [this](const Statement& statement) { constrain(statement); });
}

Value* LayoutGroups::root(Value* tile) {
  Value*& parent = parents_.emplace(tile, tile).first->second;
  if (parent == tile) return tile;
  Value* found = root(parent);
  return parents_[tile] = found;
}

void LayoutGroups::unite(Value* a, Value* b) {
  if (a->type.is_tile() && b->type.is_tile()) parents_[root(a)] = root(b);
}

void LayoutGroups::connect(const Region& region) {
  for (const auto& statement : region.statements) {
    connect_statement(*statement);
    for (const Region& inner : statement->regions) connect(inner);
  }
}

void LayoutGroups::connect_statement(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kOp:
      return connect_op(statement);
    case StatementKind::kFor:
    case StatementKind::kWhile:
      for (std::size_t i = 0; i < statement.results.size(); ++i) {
        unite(statement.results[i], statement.operands[i + statement.num_bounds()]);
        unite(statement.results[i], statement.body().statements.back()->operands[i]);
        for (const Region& region : statement.regions) {
          const std::size_t num_before = region.arguments.size() - statement.results.size();
          unite(statement.results[i], region.arguments[i + num_before]);
        }
      }
      return;
    case StatementKind::kIf:
      for (std::size_t i = 0; i < statement.results.size(); ++i) {
        for (const Region& branch : statement.regions) {
          unite(statement.results[i], branch.statements.back()->operands[i]);
        }
      }
      return;
    case StatementKind::kYield:
    case StatementKind::kReturn:
      return;
  }
}

void LayoutGroups::connect_op(const Statement& op) {
  if (op.is("reshape")) {
    Value* source = op.operands.at(0);
    if (without_ones(source->type.shape) == without_ones(op.result()->type.shape)) {
      unite(op.result(), source);
    }
    return;
  }
  if (op.is("print") || op.is("assert")) return unite_operands(op);
  if (op.is("channel_exchange")) return unite_exchanged(op);
  if (op.is("matmul") && op.operands.size() > 2) unite(op.result(), op.operands[2]);
  Value* tile = access_tile(op);
  if (op.op->is_elementwise && op.result()->type.is_tile()) tile = op.result();
  if (tile == nullptr || !tile->type.is_tile()) return;
  for (Value* result : op.results) unite(tile, result);
  for (Value* operand : op.operands) {  // the offsets of a gather may have a shape of their own
    if (operand->type.shape == tile->type.shape) unite(tile, operand);
  }
}

/// What a rank sends with what comes of all.
void LayoutGroups::unite_exchanged(const Statement& op) {
  const std::vector<Value*> values = ObjectAccess::of(op).values;
  const std::size_t world = op.results.size() / values.size();
  for (std::size_t i = 0; i < op.results.size(); ++i) unite(op.results[i], values[i / world]);
}

void LayoutGroups::unite_operands(const Statement& op) {
  Value* first = nullptr;
  for (Value* operand : op.operands) {
    if (!operand->type.is_tile()) continue;
    if (first != nullptr && first->type.shape == operand->type.shape) unite(first, operand);
    first = operand;
  }
}

void LayoutGroups::collect(const Region& region) {
  for (Value* argument : region.arguments) add(argument);
  for (const auto& statement : region.statements) {
    for (Value* result : statement->results) add(result);
    for (const Region& inner : statement->regions) collect(inner);
  }
}

void LayoutGroups::add(Value* tile) {
  if (!tile->type.is_tile()) return;
  const auto [found, is_new] = index_.emplace(root(tile), groups_.size());
  if (is_new) groups_.emplace_back();
  const std::size_t index = found->second;
  index_[tile] = index;
  LayoutGroup& group = groups_[index];
  group.tiles.push_back(tile);
  group.is_by_rows = group.is_by_rows && tile->type.shape.back() == group.num_columns();
}

void LayoutGroups::constrain(const Statement& statement) {
  if (const auto [larger, slice] = sliced_tile(statement); larger != nullptr) {
    of(larger).has_per_row |= slice == Slice::kPerRow;
    of(larger).has_per_column |= slice == Slice::kPerColumn;
  }
  for (Value* tile : message_tiles(statement)) constrain_message(tile);
  Value* tile = access_tile(statement);
  if (tile == nullptr || !tile->type.is_tile()) return;
  of(tile).is_owned |= statement.is("tile_atomic") || statement.is("multimem_reduce");
  const TileAccess access = TileAccess::of(statement);
  const bool is_over_network = access.pointer == nullptr;
  const int bytes = num_bytes((is_over_network ? access.tile : access.pointer)->type.dtype);
  LayoutGroup& group = of(tile);
  group.smallest_bytes = group.smallest_bytes == 0 ? bytes : std::min(group.smallest_bytes, bytes);
  // Goes in several pieces of 16 bytes; or through staging memory, whatever its place.
  if (access.vector * bytes == kMaxVectorBytes || is_over_network) return;
  group.vector_limit =
      group.vector_limit == 0 ? access.vector : std::min(group.vector_limit, access.vector);
}

/// Vectors of whole words, each held by one thread: how elements lie in memory doesn't matter,
/// which may differ from rank to rank.
void LayoutGroups::constrain_message(Value* tile) {
  LayoutGroup& group = of(tile);
  const int bytes = num_bytes(tile->type.dtype);
  group.smallest_bytes = group.smallest_bytes == 0 ? bytes : std::min(group.smallest_bytes, bytes);
  group.is_message = group.is_owned = true;
}

}  // namespace tilewire

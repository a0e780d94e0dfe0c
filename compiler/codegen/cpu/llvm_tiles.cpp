#include <algorithm>

#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Deferred tiles call each other's functions: this bounds the stack that the compiler needs.
constexpr int kMaxDepth = 200;

}  // namespace

void LlvmEmitter::elementwise(const Statement& statement, const ElementFunction& function) {
  const Value* result = statement.result();
  const DType dtype = result->type.dtype;
  if (!result->type.is_tile()) {
    std::vector<CpuScalar> operands;
    for (const Value* operand : statement.operands) operands.push_back(scalar(operand));
    define(result, scalars_.cast(function(scalars_, operands), dtype));
    return;
  }
  Tile tile;
  tile.function = [this, &statement, function, dtype](ScalarEmitter& scalars,
                                                      const CpuIndex& index) {
    std::vector<CpuScalar> operands;
    for (const Value* operand : statement.operands) {
      operands.push_back(operand_element(operand, index));
    }
    return scalars.cast(function(scalars, operands), dtype);
  };
  add_leaves(tile, statement, true);
  place(statement, std::move(tile));
}

void LlvmEmitter::define_tile(const Statement& statement, Cost cost, const TileFunction& function) {
  Tile tile;
  tile.function = function;
  tile.is_free = cost == Cost::kFree;
  for (const Value* operand : statement.operands) {
    if (!operand->type.is_tile()) continue;
    tile.is_free = tile.is_free && (is_materialised(operand) || tiles_.at(operand).is_free);
  }
  add_leaves(tile, statement, false);
  place(statement, std::move(tile));
}

/// Notes what evaluating an element will read, through the statement's operands.
void LlvmEmitter::add_leaves(Tile& tile, const Statement& statement, bool at_same_position) {
  for (const Value* operand : statement.operands) {
    if (!operand->type.is_tile()) continue;
    const Tile& source = tiles_.at(operand);
    tile.reads_memory = tile.reads_memory || source.reads_memory;
    tile.depth = std::max(tile.depth, source.depth + 1);
    auto& same = at_same_position ? tile.same_position : tile.other_positions;
    same.insert(source.same_position.begin(), source.same_position.end());
    tile.other_positions.insert(source.other_positions.begin(), source.other_positions.end());
  }
}

/// Defers the statement's result to its user, or writes it to the arena now.
void LlvmEmitter::place(const Statement& statement, Tile tile) {
  const Value* result = statement.result();
  if (uses_.num_users(result) == 0) return;
  const bool is_deferred =
      tile.depth < kMaxDepth && (tile.is_free || may_defer(result, tile.reads_memory));
  if (!is_deferred) {
    const std::int64_t offset = allocate(result->type);
    write_elements(offset, result->type, tile.function);
    tile = Tile();
    tile.offset = offset;
    tile.same_position = {offset};
    tiles_[result] = std::move(tile);
    return;
  }
  for (const Value* used : uses_.used_by(statement)) {
    if (!used->type.is_tile()) continue;
    tile.held.push_back(used);
    std::erase(pending_reads_, used);
  }
  if (tile.reads_memory) pending_reads_.push_back(result);
  tile.is_shared = uses_.single_user(result) == nullptr;
  tiles_[result] = std::move(tile);
  holds_operands_ = true;
}

/// One statement of the same region uses it, once per element; or several do, but all of them in
/// one loop, which then computes the element once. What reads memory is not shared: it may have to
/// be written to the arena between two of its uses.
bool LlvmEmitter::may_defer(const Value* result, bool reads_memory) const {
  const Statement* user = uses_.single_user(result);
  if (user == nullptr && !reads_memory) user = uses_.common_loop(result);
  if (user == nullptr) return false;
  const std::int64_t num_elements = result->type.num_elements();
  return user->kind != StatementKind::kOp ||
         std::all_of(user->results.begin(), user->results.end(), [&](const Value* other) {
           return other->type.num_elements() <= num_elements;
         });
}

bool LlvmEmitter::is_materialised(const Value* value) const {
  return tiles_.at(value).offset.has_value();
}

CpuScalar LlvmEmitter::element(const Value* value, const CpuIndex& index) {
  const auto found = tiles_.find(value);
  if (found == tiles_.end()) {
    throw InternalError("tile `" + value->name + "` is used where it has no place");
  }
  const Tile& tile = found->second;
  if (tile.offset) return load_arena(*tile.offset, value->type, index);
  if (!tile.is_shared || tile.is_free) return tile.function(scalars_, index);
  std::pair<const Value*, std::vector<void*>> key(value, {});
  for (const CpuScalar position : index) key.second.push_back(position.handle);
  const auto known = elements_.find(key);
  if (known != elements_.end()) return known->second;
  const CpuScalar computed = tile.function(scalars_, index);
  elements_.emplace(std::move(key), computed);
  return computed;
}

CpuScalar LlvmEmitter::operand_element(const Value* value, const CpuIndex& index) {
  return value->type.is_tile() ? element(value, index) : scalar(value);
}

/// Writes a deferred tile to the arena, where it stays for its user.
void LlvmEmitter::materialise(const Value* value) {
  Tile& tile = tiles_.at(value);
  if (tile.offset) return;
  const std::int64_t offset = allocate(value->type);
  write_elements(offset, value->type, tile.function);
  const std::vector<const Value*> held = std::move(tile.held);
  std::erase(pending_reads_, value);
  tile = Tile();
  tile.offset = offset;
  tile.same_position = {offset};
  for (const Value* used : held) release(used);
}

void LlvmEmitter::flush_pending_reads() {
  while (!pending_reads_.empty()) materialise(pending_reads_.front());
}

void LlvmEmitter::write_elements(std::int64_t offset, const Type& type,
                                 const TileFunction& function) {
  loops(type, [&](const CpuIndex& index) {
    store_arena(offset, type, index, function(scalars_, index));
  });
}

void LlvmEmitter::reduce(const Statement& statement, std::optional<std::int64_t> axis,
                         CpuScalar identity, const Combine& combine) {
  const Value* tile = statement.operands[0];
  const Value* result = statement.result();
  if (result->type.is_scalar()) {
    define(result, fold(tile, {}, identity, combine));
    return;
  }
  const std::int64_t offset = allocate(result->type);
  if (*axis == tile->type.rank() - 1) {
    reduce_rows(tile, result->type, offset, identity, combine);
  } else {
    reduce_slices(tile, *axis, result->type, offset, identity, combine);
  }
  Tile reduced;
  reduced.offset = offset;
  reduced.same_position = {offset};
  tiles_[result] = std::move(reduced);
}

/// Along the last axis: each element of the result is a fold of neighbours.
void LlvmEmitter::reduce_rows(const Value* tile, const Type& result, std::int64_t offset,
                              CpuScalar identity, const Combine& combine) {
  loops(result, [&](const CpuIndex& index) {
    store_arena(offset, result, index, fold(tile, index, identity, combine));
  });
}

/// Along another axis: whole slices are added up, so that inner loops run over neighbours.
void LlvmEmitter::reduce_slices(const Value* tile, std::int64_t axis, const Type& result,
                                std::int64_t offset, CpuScalar identity, const Combine& combine) {
  write_elements(offset, result, [&](ScalarEmitter&, const CpuIndex&) { return identity; });
  loops(tile->type, [&](const CpuIndex& index) {
    CpuIndex place = index;
    place.erase(place.begin() + axis);
    const CpuScalar x = scalars_.cast(element(tile, index), result.dtype);
    const CpuScalar sum = combine(scalars_, load_arena(offset, result, place), x);
    store_arena(offset, result, place, scalars_.cast(sum, result.dtype));
  });
}

/// Folds the elements whose index begins with `prefix`.
CpuScalar LlvmEmitter::fold(const Value* tile, CpuIndex prefix, CpuScalar accumulator,
                            const Combine& combine) {
  const DType dtype = accumulator.dtype;
  if (prefix.size() == tile->type.shape.size()) {
    const CpuScalar x = scalars_.cast(element(tile, prefix), dtype);
    return scalars_.cast(combine(scalars_, accumulator, x), dtype);
  }
  llvm::Value* extent = index_constant(tile->type.shape[prefix.size()]);
  const Values sum =
      loop(index_constant(0), extent, index_constant(1), {llvm_value(accumulator)},
           [&](llvm::Value* index, const Values& carried) {
             CpuIndex longer = prefix;
             longer.push_back(as_index(index));
             return Values{llvm_value(fold(tile, longer, {carried[0], dtype}, combine))};
           });
  return {sum[0], dtype};
}

std::int64_t LlvmEmitter::allocate(const Type& type) {
  return arena_.allocate(type.num_elements() * num_bytes(type.dtype));
}

/// Row-major; in range, so that nothing wraps around.
llvm::Value* LlvmEmitter::flat_index(const Type& type, const CpuIndex& index) {
  llvm::Value* flat = llvm_value(index[0]);
  for (std::size_t i = 1; i < index.size(); ++i) {
    flat = builder_.CreateMul(flat, index_constant(type.shape[i]), "", true, true);
    flat = builder_.CreateAdd(flat, llvm_value(index[i]), "", true, true);
  }
  return flat;
}

CpuScalar LlvmEmitter::load_arena(std::int64_t offset, const Type& type, const CpuIndex& index) {
  llvm::Type* stored = scalars_.memory_type(type.dtype);
  llvm::Value* tile =
      builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), arena_pointer_, offset);
  llvm::Value* place = builder_.CreateInBoundsGEP(stored, tile, flat_index(type, index));
  llvm::LoadInst* bits = builder_.CreateLoad(stored, place);
  bits->setMetadata(llvm::LLVMContext::MD_alias_scope, arena_scope_);
  bits->setMetadata(llvm::LLVMContext::MD_noalias, memory_scope_);
  return scalars_.from_memory(bits, type.dtype);
}

void LlvmEmitter::store_arena(std::int64_t offset, const Type& type, const CpuIndex& index,
                              CpuScalar x) {
  if (x.dtype != type.dtype) throw InternalError("an element of another dtype than its tile");
  llvm::Value* tile =
      builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), arena_pointer_, offset);
  llvm::Value* place =
      builder_.CreateInBoundsGEP(scalars_.memory_type(type.dtype), tile, flat_index(type, index));
  llvm::StoreInst* store = builder_.CreateStore(scalars_.to_memory(x), place);
  store->setMetadata(llvm::LLVMContext::MD_alias_scope, arena_scope_);
  store->setMetadata(llvm::LLVMContext::MD_noalias, memory_scope_);
}

}  // namespace tilewire

#include "compiler/codegen/cpu/abi.h"
#include "compiler/codegen/cpu/llvm_emitter.h"

namespace tilewire {

llvm::Value* LlvmEmitter::arena_place(std::int64_t offset) {
  return builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), arena_pointer_, offset);
}

/// Writes a `CpuTile` at an offset of the arena.
void LlvmEmitter::describe_tile(std::int64_t offset, const Type& type, llvm::Value* data) {
  const auto write = [&](std::size_t field, llvm::Value* value) {
    builder_.CreateStore(value, arena_place(offset + static_cast<std::int64_t>(field)));
  };
  write(offsetof(CpuTile, data), data);
  write(offsetof(CpuTile, dtype), index_constant(static_cast<std::int64_t>(type.dtype)));
  write(offsetof(CpuTile, rank), index_constant(type.rank()));
  for (std::size_t i = 0; i < 3; ++i) {
    write(offsetof(CpuTile, shape) + i * sizeof(std::int64_t),
          index_constant(i < type.shape.size() ? type.shape[i] : 1));
  }
}

/// The address of an operand's elements; of a symmetric parameter, that of each rank's memory.
/// `borrowed`: places in the arena to release after the call.
llvm::Value* LlvmEmitter::reference_operand(const Value* value,
                                            std::vector<std::int64_t>& borrowed) {
  if (value->type.is_pointer()) return llvm_value(scalar(value));
  if (value->type.is_view()) return parameters_.at(value);  // every rank's address
  if (value->type.is_tile() && is_materialised(value)) return arena_place(*tiles_.at(value).offset);
  // A deferred tile may have other users, also where this statement isn't reached: it stays one.
  borrowed.push_back(allocate(value->type));
  llvm::Value* place = arena_place(borrowed.back());
  if (value->type.is_tile()) {
    write_elements(borrowed.back(), value->type, tiles_.at(value).function);
  } else {
    builder_.CreateStore(scalars_.to_memory(scalar(value)), place);
  }
  return place;
}

void LlvmEmitter::call_reference(const Statement& statement, std::string_view name,
                                 std::span<const std::int64_t> constants) {
  constexpr auto kWord = static_cast<std::int64_t>(sizeof(std::int64_t));
  constexpr auto kTile = static_cast<std::int64_t>(sizeof(CpuTile));
  const auto num_tiles =
      static_cast<std::int64_t>(statement.results.size() + statement.operands.size());
  const auto num_constants = static_cast<std::int64_t>(constants.size());
  const std::int64_t tiles = arena_.allocate(num_tiles * kTile + num_constants * kWord);
  const std::int64_t words = tiles + num_tiles * kTile;
  std::vector<std::int64_t> borrowed = {tiles};

  std::int64_t next = tiles;
  std::vector<std::int64_t> offsets;
  for (const Value* result : statement.results) {
    offsets.push_back(allocate(result->type));
    describe_tile(next, result->type, arena_place(offsets.back()));
    next += kTile;
  }
  for (const Value* operand : statement.operands) {
    describe_tile(next, operand->type, reference_operand(operand, borrowed));
    next += kTile;
  }
  for (std::int64_t i = 0; i < num_constants; ++i) {
    builder_.CreateStore(index_constant(constants[static_cast<std::size_t>(i)]),
                         arena_place(words + i * kWord));
  }
  llvm::Type* pointer = builder_.getPtrTy();
  const auto callee = module_->getOrInsertFunction(
      llvm::StringRef(name.data(), name.size()),
      llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer, pointer}, false));
  builder_.CreateCall(callee, {function_->getArg(0), arena_place(tiles), arena_place(words)});

  for (std::size_t i = 0; i < statement.results.size(); ++i) {
    const Value* result = statement.results[i];
    if (result->type.is_tile()) {
      Tile filled;
      filled.offset = offsets[i];
      filled.same_position = {offsets[i]};
      tiles_[result] = std::move(filled);
      continue;
    }
    const DType dtype = result->type.dtype;
    llvm::Value* stored = builder_.CreateLoad(scalars_.memory_type(dtype), arena_place(offsets[i]));
    define(result, scalars_.from_memory(stored, dtype));
    borrowed.push_back(offsets[i]);
  }
  for (const std::int64_t offset : borrowed) arena_.release(offset);
}

}  // namespace tilewire

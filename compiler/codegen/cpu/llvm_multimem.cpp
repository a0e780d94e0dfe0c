#include <map>

#include "compiler/codegen/cpu/abi.h"
#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/codegen/cpu/llvm_formats.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::int64_t kSlotBytes = 8;

CpuReduction reduction_of(std::string_view operation) {
  static const std::map<std::string_view, CpuReduction> reductions = {
      {"add", CpuReduction::kAdd}, {"min", CpuReduction::kMin}, {"max", CpuReduction::kMax},
      {"and", CpuReduction::kAnd}, {"or", CpuReduction::kOr},   {"xor", CpuReduction::kXor}};
  return reductions.at(operation);
}

Atomic atomic_of(std::string_view operation) {
  static const std::map<std::string_view, AtomicKind> kinds = {
      {"add", AtomicKind::kAdd}, {"min", AtomicKind::kMin}, {"max", AtomicKind::kMax},
      {"and", AtomicKind::kAnd}, {"or", AtomicKind::kOr},   {"xor", AtomicKind::kXor}};
  return {kinds.at(operation), AtomicOrder::kRelaxed, "system"};
}

}  // namespace

/// The same place in the copy of another member of this rank's LSA team.
llvm::Value* LlvmEmitter::in_copy(llvm::Value* place, const Value* window, llvm::Value* member) {
  llvm::Value* own_member =
      builder_.CreateURem(llvm_value(rank()), index_constant(program_.lsa_size));
  llvm::Value* first = builder_.CreateSub(llvm_value(rank()), own_member);
  const auto copy = [&](llvm::Value* rank) {
    llvm::Value* at = builder_.CreateInBoundsGEP(builder_.getPtrTy(), parameters_.at(window), rank);
    return builder_.CreatePtrToInt(builder_.CreateLoad(builder_.getPtrTy(), at),
                                   builder_.getInt64Ty());
  };
  llvm::Value* offset = builder_.CreateSub(builder_.CreatePtrToInt(place, builder_.getInt64Ty()),
                                           copy(llvm_value(rank())));
  return builder_.CreateIntToPtr(
      builder_.CreateAdd(copy(builder_.CreateAdd(first, member)), offset), builder_.getPtrTy());
}

/// One element, reduced over all copies; narrow floats in f32, rounded once.
CpuScalar LlvmEmitter::reduced(const Statement& load, llvm::Value* place, DType dtype,
                               std::int64_t slot) {
  const Value* window = parameter_behind(load.operands.at(0));
  const CpuScalar arguments[] = {
      {arena_place(slot), DType::kI8},
      {place, DType::kI8},
      {parameters_.at(window), DType::kI8},
      scalars_.integer(static_cast<std::int64_t>(dtype), kIndex),
      scalars_.integer(static_cast<std::int64_t>(reduction_of(load.text("operation"))), kIndex),
      scalars_.integer(program_.lsa_size, kIndex)};
  call_runtime("tilewire_multimem_load", arguments);
  const DType stored = is_narrow_float(dtype) ? DType::kF32 : dtype;
  llvm::Value* value = builder_.CreateLoad(scalars_.memory_type(stored), arena_place(slot));
  return scalars_.cast(scalars_.from_memory(value, stored), dtype);
}

void LlvmEmitter::multimem_load(const Statement& statement, const TileAccess& access) {
  const Value* result = statement.result();
  const Type& type = result->type;
  // A scalar passes through the arena too.
  const Type held = type.is_tile() ? type : Type::tile(type.dtype, {1});
  const auto position = [&](const CpuIndex& index) {
    return type.is_tile() ? index : CpuIndex{scalars_.integer(0, kIndex)};
  };
  const std::int64_t offset = allocate(held);
  const std::int64_t slot = arena_.allocate(kSlotBytes);
  write_elements(offset, held, [&](ScalarEmitter&, const CpuIndex& index) {
    if (access.other != nullptr) return operand_element(access.other, index);
    return scalars_.cast(scalars_.integer(0, kIndex), type.dtype);
  });
  loops(inside_bounds(access), [&](const CpuIndex& index) {
    if_exists(access, index, [&] {
      store_arena(offset, held, position(index),
                  reduced(statement, address(access, type, index), type.dtype, slot));
    });
  });
  arena_.release(slot);
  if (!type.is_tile()) {
    define(result, load_arena(offset, held, position({})));
    return arena_.release(offset);
  }
  Tile tile;
  tile.offset = offset;
  tile.same_position = {offset};
  tiles_[result] = std::move(tile);
}

/// To one copy after the other: others may see some of them written and some not.
void LlvmEmitter::multimem_write(const Statement& statement, const TileAccess& access) {
  const Type& type = access.tile->type;
  const Value* window = parameter_behind(statement.operands.at(0));
  loop(index_constant(0), index_constant(program_.lsa_size), index_constant(1), {},
       [&](llvm::Value* member, const Values&) {
         count_access();
         loops(inside_bounds(access), [&](const CpuIndex& index) {
           if_exists(access, index, [&] {
             llvm::Value* place = in_copy(address(access, type, index), window, member);
             const CpuScalar value = operand_element(access.tile, index);
             if (statement.is("multimem_store")) {
               store_memory(place, value);
             } else {
               change(place, atomic_of(statement.text("operation")), value, value);
             }
           });
         });
         return Values();
       });
}

void LlvmEmitter::multimem(const Statement& statement, const TileAccess& access) {
  if (statement.is("multimem_load")) return multimem_load(statement, access);
  multimem_write(statement, access);
}

}  // namespace tilewire

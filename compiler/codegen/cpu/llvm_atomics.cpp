#include <algorithm>

#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/codegen/cpu/llvm_formats.h"

namespace tilewire {
namespace {

llvm::AtomicOrdering ordering_of(AtomicOrder order) {
  switch (order) {
    case AtomicOrder::kRelaxed:
      return llvm::AtomicOrdering::Monotonic;
    case AtomicOrder::kAcquire:
      return llvm::AtomicOrdering::Acquire;
    case AtomicOrder::kRelease:
      return llvm::AtomicOrdering::Release;
    case AtomicOrder::kAcqRel:
      return llvm::AtomicOrdering::AcquireRelease;
  }
  return llvm::AtomicOrdering::AcquireRelease;
}

/// The processor's own operation; BAD_BINOP where there is none for the dtype.
llvm::AtomicRMWInst::BinOp operation_of(AtomicKind kind, DType dtype) {
  using Op = llvm::AtomicRMWInst;
  if (is_narrow_float(dtype)) return Op::BAD_BINOP;
  switch (kind) {
    case AtomicKind::kAdd:
      return is_float(dtype) ? Op::FAdd : Op::Add;
    case AtomicKind::kMin:
      return is_float(dtype) ? Op::BAD_BINOP : is_signed(dtype) ? Op::Min : Op::UMin;
    case AtomicKind::kMax:
      return is_float(dtype) ? Op::BAD_BINOP : is_signed(dtype) ? Op::Max : Op::UMax;
    case AtomicKind::kAnd:
      return Op::And;
    case AtomicKind::kOr:
      return Op::Or;
    case AtomicKind::kXor:
      return Op::Xor;
    case AtomicKind::kExchange:
      return Op::Xchg;
    case AtomicKind::kCas:
      return Op::BAD_BINOP;
  }
  return Op::BAD_BINOP;
}

}  // namespace

/// Compares and swaps bits; what was there before.
llvm::Value* LlvmEmitter::swap(llvm::Value* place, const Atomic& atomic, llvm::Value* compare,
                               llvm::Value* value) {
  const llvm::AtomicOrdering order = ordering_of(atomic.order);
  auto* swapped =
      builder_.CreateAtomicCmpXchg(place, compare, value, llvm::MaybeAlign(), order,
                                   llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(order));
  return builder_.CreateExtractValue(swapped, 0);
}

/// Computes the new value from what is seen, and swaps it in unless somebody came between.
llvm::Value* LlvmEmitter::change_by_swapping(llvm::Value* place, const Atomic& atomic,
                                             CpuScalar value) {
  const DType dtype = value.dtype;
  llvm::Type* bits = builder_.getIntNTy(8U * static_cast<unsigned>(num_bytes(dtype)));
  llvm::Type* stored = scalars_.memory_type(dtype);
  llvm::LoadInst* first = builder_.CreateLoad(bits, place);
  first->setAtomic(llvm::AtomicOrdering::Monotonic);
  first->setAlignment(llvm::Align(static_cast<std::uint64_t>(num_bytes(dtype))));
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  auto* again = llvm::BasicBlock::Create(context_, "again", function_);
  auto* done = llvm::BasicBlock::Create(context_, "changed", function_);
  builder_.CreateBr(again);
  builder_.SetInsertPoint(again);
  llvm::PHINode* seen = builder_.CreatePHI(bits, 2);
  seen->addIncoming(first, before);
  const CpuScalar old = scalars_.from_memory(builder_.CreateBitCast(seen, stored), dtype);
  CpuScalar next = value;
  if (atomic.kind == AtomicKind::kAdd) next = scalars_.cast(scalars_.add(old, value), dtype);
  if (atomic.kind == AtomicKind::kMin) next = scalars_.cast(scalars_.minimum(old, value), dtype);
  if (atomic.kind == AtomicKind::kMax) next = scalars_.cast(scalars_.maximum(old, value), dtype);
  llvm::Value* found =
      swap(place, atomic, seen, builder_.CreateBitCast(scalars_.to_memory(next), bits));
  seen->addIncoming(found, builder_.GetInsertBlock());
  builder_.CreateCondBr(builder_.CreateICmpEQ(found, seen), done, again);
  builder_.SetInsertPoint(done);
  return found;
}

/// One element; what was there before.
CpuScalar LlvmEmitter::change(llvm::Value* place, const Atomic& atomic, CpuScalar value,
                              CpuScalar compare) {
  const DType dtype = value.dtype;
  llvm::Type* bits = builder_.getIntNTy(8U * static_cast<unsigned>(num_bytes(dtype)));
  llvm::Type* stored = scalars_.memory_type(dtype);
  const auto bits_of = [&](CpuScalar x) {
    return builder_.CreateBitCast(scalars_.to_memory(x), bits);
  };
  const llvm::AtomicRMWInst::BinOp operation = operation_of(atomic.kind, dtype);
  if (operation != llvm::AtomicRMWInst::BAD_BINOP) {
    llvm::Value* before = builder_.CreateAtomicRMW(operation, place, scalars_.to_memory(value),
                                                   llvm::MaybeAlign(), ordering_of(atomic.order));
    return scalars_.from_memory(before, dtype);
  }
  llvm::Value* before = atomic.kind == AtomicKind::kCas
                            ? swap(place, atomic, bits_of(compare), bits_of(value))
                            : change_by_swapping(place, atomic, value);
  return scalars_.from_memory(builder_.CreateBitCast(before, stored), dtype);
}

void LlvmEmitter::atomic(const Statement& statement, const TileAccess& access,
                         const Atomic& atomic) {
  const Type& type = access.tile->type;
  const bool returns = !statement.results.empty();
  const CpuScalar zero = scalars_.cast(scalars_.integer(0, kIndex), type.dtype);
  // A scalar passes through the arena too.
  const Type held = type.is_tile() ? type : Type::tile(type.dtype, {1});
  const auto position = [&](const CpuIndex& index) {
    return type.is_tile() ? index : CpuIndex{scalars_.integer(0, kIndex)};
  };
  const std::int64_t offset = returns ? allocate(held) : 0;
  if (returns) {
    write_elements(offset, held, [&](ScalarEmitter&, const CpuIndex&) { return zero; });
  }
  loops(inside_bounds(access), [&](const CpuIndex& index) {
    if_exists(access, index, [&] {
      const CpuScalar value = operand_element(access.tile, index);
      const CpuScalar compare =
          access.compare != nullptr ? operand_element(access.compare, index) : value;
      const CpuScalar before = change(address(access, type, index), atomic, value, compare);
      if (returns) store_arena(offset, held, position(index), before);
    });
  });
  if (!returns) return;
  if (!type.is_tile()) {
    define(statement.result(), load_arena(offset, held, position({})));
    return arena_.release(offset);
  }
  Tile tile;
  tile.offset = offset;
  tile.same_position = {offset};
  tiles_[statement.result()] = std::move(tile);
}

}  // namespace tilewire

#include <algorithm>

#include "compiler/codegen/cpu/abi.h"
#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

const Statement& yield_of(const Region& region) {
  if (region.statements.empty() || region.statements.back()->kind != StatementKind::kYield) {
    throw InternalError("a region without yield");
  }
  return *region.statements.back();
}

}  // namespace

/// lower, lower + step, … while below upper; returns what the body carried out last.
LlvmEmitter::Values LlvmEmitter::loop(llvm::Value* lower, llvm::Value* upper, llvm::Value* step,
                                      const Values& initial, const LoopBody& body) {
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context_, "loop", function_);
  auto* inside = llvm::BasicBlock::Create(context_, "body", function_);
  auto* after = llvm::BasicBlock::Create(context_, "end", function_);
  builder_.CreateBr(header);

  builder_.SetInsertPoint(header);
  llvm::PHINode* index = builder_.CreatePHI(lower->getType(), 2, "i");
  index->addIncoming(lower, before);
  Values carried;
  for (llvm::Value* value : initial) {
    llvm::PHINode* phi = builder_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  builder_.CreateCondBr(builder_.CreateICmpSLT(index, upper), inside, after);

  builder_.SetInsertPoint(inside);
  const Elements known = elements_;
  const Values next = body(index, carried);
  elements_ = known;
  // A sum that is too large stays the largest number, which is below no upper bound.
  llvm::Value* following = step == index_constant(1) ? builder_.CreateAdd(index, step)
                                                     : builder_.CreateBinaryIntrinsic(
                                                           llvm::Intrinsic::sadd_sat, index, step);
  index->addIncoming(following, builder_.GetInsertBlock());
  for (std::size_t i = 0; i < carried.size(); ++i) {
    llvm::cast<llvm::PHINode>(carried[i])->addIncoming(next.at(i), builder_.GetInsertBlock());
  }
  builder_.CreateBr(header);
  builder_.SetInsertPoint(after);
  return carried;
}

/// Nested loops, the last dimension innermost. A dimension of one element has no loop.
void LlvmEmitter::loops(const std::vector<Bounds>& bounds, const IndexBody& body, CpuIndex prefix) {
  if (prefix.size() == bounds.size()) return body(prefix);
  const Bounds& own = bounds[prefix.size()];
  const auto go_on = [&](llvm::Value* index, const Values&) {
    CpuIndex longer = prefix;
    longer.push_back(as_index(index));
    loops(bounds, body, longer);
    return Values();
  };
  if (own.lower == index_constant(0) && own.upper == index_constant(1)) {
    go_on(own.lower, {});
  } else {
    loop(own.lower, own.upper, index_constant(1), {}, go_on);
  }
}

void LlvmEmitter::loops(const Type& type, const IndexBody& body) {
  std::vector<Bounds> bounds;
  for (const std::int64_t extent : type.shape) {
    bounds.push_back({index_constant(0), index_constant(extent)});
  }
  loops(bounds, body);
}

/// Runs one of two bodies; returns what it gave.
LlvmEmitter::Values LlvmEmitter::branch(llvm::Value* condition,
                                        const std::function<Values()>& then_body,
                                        const std::function<Values()>& else_body) {
  auto* then_block = llvm::BasicBlock::Create(context_, "then", function_);
  auto* else_block = llvm::BasicBlock::Create(context_, "else", function_);
  auto* after = llvm::BasicBlock::Create(context_, "after", function_);
  builder_.CreateCondBr(condition, then_block, else_block);

  const Elements known = elements_;
  builder_.SetInsertPoint(then_block);
  const Values then_values = then_body();
  elements_ = known;
  then_block = builder_.GetInsertBlock();
  builder_.CreateBr(after);

  builder_.SetInsertPoint(else_block);
  const Values else_values = else_body();
  elements_ = known;
  else_block = builder_.GetInsertBlock();
  builder_.CreateBr(after);

  builder_.SetInsertPoint(after);
  Values merged;
  for (std::size_t i = 0; i < then_values.size(); ++i) {
    llvm::PHINode* phi = builder_.CreatePHI(then_values[i]->getType(), 2);
    phi->addIncoming(then_values[i], then_block);
    phi->addIncoming(else_values.at(i), else_block);
    merged.push_back(phi);
  }
  return merged;
}

/// What follows in the region is unreachable; it goes into a block of its own.
void LlvmEmitter::emit_return() {
  builder_.CreateBr(exit_);
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "unreachable", function_));
}

void LlvmEmitter::emit_if(const Statement& statement) {
  flush_pending_reads();
  std::vector<std::int64_t> offsets;
  for (const Value* result : statement.results) {
    offsets.push_back(result->type.is_tile() ? allocate(result->type) : -1);
  }
  const auto emit_branch = [&](const Region& region) {
    emit_region(region);
    const Statement& yield = yield_of(region);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] >= 0) copy_tile(yield.operands.at(i), offsets[i]);
    }
    const Values values = yield_scalars(yield);
    for (const Value* value : uses_.used_by(yield)) release(value);
    return values;
  };
  const Values values = branch(
      llvm_value(scalar(statement.operands.at(0))),
      [&] { return emit_branch(statement.regions.at(0)); },
      [&] { return emit_branch(statement.regions.at(1)); });
  std::size_t next = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Value* result = statement.results[i];
    if (offsets[i] < 0) {
      define(result, {values[next++], result->type.dtype});
    } else {
      Tile tile;
      tile.offset = offsets[i];
      tile.same_position = {offsets[i]};
      tiles_[result] = std::move(tile);
    }
  }
}

LlvmEmitter::Values LlvmEmitter::yield_scalars(const Statement& yield) {
  Values values;
  for (const Value* value : yield.operands) {
    if (!value->type.is_tile()) values.push_back(llvm_value(scalar(value)));
  }
  return values;
}

/// Whether the value yielded at `position` can be written over the carried tile while it is
/// computed: of the carried tiles, it reads only that one, each element for itself, and no other
/// yielded value reads that one. `offsets`: of the carried tiles; -1 for scalars.
bool LlvmEmitter::may_write_in_place(const Statement& yield, std::size_t position,
                                     const std::vector<std::int64_t>& offsets) const {
  const std::int64_t own = offsets[position];
  const Tile& written = tiles_.at(yield.operands[position]);
  if (written.other_positions.count(own) > 0) return false;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (i == position || offsets[i] < 0) continue;
    const Tile& other = tiles_.at(yield.operands[i]);
    if (other.same_position.count(own) > 0 || other.other_positions.count(own) > 0) return false;
    if (written.same_position.count(offsets[i]) > 0) return false;
    if (written.other_positions.count(offsets[i]) > 0) return false;
  }
  return true;
}

/// Hands the yielded tiles to the next iteration. What can't be written in place is computed into
/// places of its own before any carried tile changes.
void LlvmEmitter::yield_to_loop(const Statement& yield, const std::vector<std::int64_t>& offsets) {
  std::vector<std::pair<std::size_t, std::int64_t>> copies;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] < 0 || may_write_in_place(yield, i, offsets)) continue;
    copies.emplace_back(i, allocate(yield.operands[i]->type));
    copy_tile(yield.operands[i], copies.back().second);
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] >= 0 && may_write_in_place(yield, i, offsets)) {
      copy_tile(yield.operands[i], offsets[i]);
    }
  }
  for (const auto& [position, offset] : copies) {
    const Type& type = yield.operands[position]->type;
    write_elements(offsets[position], type,
                   [&, from = offset](ScalarEmitter&, const CpuIndex& index) {
                     return load_arena(from, type, index);
                   });
    arena_.release(offset);
  }
}

/// Writes the tile's elements to another place in the arena, unless that is where they are.
void LlvmEmitter::copy_tile(const Value* from, std::int64_t offset) {
  if (tiles_.at(from).offset == offset) return;
  write_elements(offset, from->type,
                 [&](ScalarEmitter&, const CpuIndex& index) { return element(from, index); });
}

/// Before what other instances may see: in programs that wait, which run as fibers, another one may
/// run here. Programs that never wait have none of it.
void LlvmEmitter::count_access() {
  if (!artifact_.resources.waits && !artifact_.resources.network) return;
  llvm::Value* place = builder_.CreateConstInBoundsGEP1_64(
      builder_.getInt8Ty(), function_->getArg(0), offsetof(CpuInstance, accesses_left));
  llvm::Value* left =
      builder_.CreateSub(builder_.CreateLoad(builder_.getInt64Ty(), place), index_constant(1));
  builder_.CreateStore(left, place);
  const auto interrupt = [&] {
    call_runtime("tilewire_interrupt", {});
    return Values();
  };
  branch(builder_.CreateICmpSLE(left, index_constant(0)), interrupt, [] { return Values(); });
}

}  // namespace tilewire

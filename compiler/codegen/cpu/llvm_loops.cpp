#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// The region's argument that holds carried value `i` of its loop.
const Value* carried_argument(const Statement& loop, const Region& region, std::size_t i) {
  return region.arguments.at(region.arguments.size() - loop.results.size() + i);
}

/// Whether a loop goes round so few times that it needs no check-in of its own.
bool is_short(const llvm::Value* lower, const llvm::Value* upper, const llvm::Value* step) {
  constexpr std::int64_t kMaxRounds = 64;
  const auto* first = llvm::dyn_cast<llvm::ConstantInt>(lower);
  const auto* last = llvm::dyn_cast<llvm::ConstantInt>(upper);
  const auto* by = llvm::dyn_cast<llvm::ConstantInt>(step);
  if (first == nullptr || last == nullptr || by == nullptr) return false;
  const auto distance =
      static_cast<double>(last->getSExtValue()) - static_cast<double>(first->getSExtValue());
  return by->getSExtValue() < 1 || distance <= static_cast<double>(kMaxRounds * by->getSExtValue());
}

}  // namespace

/// Counts a round of a loop, and calls the runtime when it is time to: it may end the launch there.
void LlvmEmitter::check_in() {
  if (rounds_left_ == nullptr) {
    llvm::IRBuilder<> entry(&function_->getEntryBlock(), function_->getEntryBlock().begin());
    rounds_left_ = entry.CreateAlloca(builder_.getInt64Ty(), nullptr, "rounds_left");
    entry.CreateStore(builder_.getInt64(1), rounds_left_);
  }
  llvm::Value* left = builder_.CreateSub(builder_.CreateLoad(builder_.getInt64Ty(), rounds_left_),
                                         builder_.getInt64(1));
  auto* call = llvm::BasicBlock::Create(context_, "check_in", function_);
  auto* after = llvm::BasicBlock::Create(context_, "go_on", function_);
  builder_.CreateStore(left, rounds_left_);
  builder_.CreateCondBr(builder_.CreateICmpSLE(left, builder_.getInt64(0)), call, after,
                        llvm::MDBuilder(context_).createUnlikelyBranchWeights());
  builder_.SetInsertPoint(call);
  auto function = module_->getOrInsertFunction(
      "tilewire_check_in",
      llvm::FunctionType::get(builder_.getInt64Ty(), {builder_.getPtrTy()}, false));
  // It neither reads nor writes what the program does, so that loads may move across it.
  llvm::cast<llvm::Function>(function.getCallee())->setOnlyAccessesInaccessibleMemory();
  builder_.CreateStore(builder_.CreateCall(function, {function_->getArg(0)}), rounds_left_);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
}

/// Carried tiles have one place in the arena, shared by the regions' arguments and the result.
/// Initial scalars go to `initial`.
LlvmEmitter::CarriedTiles LlvmEmitter::begin_carried(const Statement& loop, Values& initial) {
  CarriedTiles offsets(loop.results.size(), -1);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Value* value = loop.operands.at(loop.num_bounds() + i);
    if (!value->type.is_tile()) {
      initial.push_back(llvm_value(scalar(value)));
      continue;
    }
    Tile tile;
    offsets[i] = allocate(value->type);
    tile.offset = offsets[i];
    tile.same_position = {offsets[i]};
    copy_tile(value, offsets[i]);
    tiles_[loop.results[i]] = tile;
    tile.owns_offset = false;
    for (const Region& region : loop.regions) tiles_[carried_argument(loop, region, i)] = tile;
  }
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    std::erase(pending_reads_, loop.operands[loop.num_bounds() + i]);  // read above
  }
  flush_pending_reads();
  return offsets;
}

void LlvmEmitter::define_carried(const Statement& loop, const Region& region,
                                 const Values& scalars) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < loop.results.size(); ++i) {
    const Value* argument = carried_argument(loop, region, i);
    if (!argument->type.is_tile()) define(argument, {scalars[next++], argument->type.dtype});
  }
}

void LlvmEmitter::end_carried(const Statement& loop, const Values& scalars) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < loop.results.size(); ++i) {
    const Value* result = loop.results[i];
    if (!result->type.is_tile()) define(result, {scalars[next++], result->type.dtype});
    for (const Region& region : loop.regions) tiles_.erase(carried_argument(loop, region, i));
  }
}

void LlvmEmitter::emit_for(const Statement& statement) {
  const Region& region = statement.regions.at(0);
  Values initial;
  const CarriedTiles offsets = begin_carried(statement, initial);
  // A step that doesn't lead upwards would never end.
  llvm::Value* step = llvm_value(scalar(statement.operands[2]));
  llvm::Value* upper = llvm_value(scalar(statement.operands[1]));
  llvm::Value* lower = llvm_value(scalar(statement.operands[0]));
  llvm::Value* goes_up = builder_.CreateICmpSGT(step, index_constant(0));
  upper = builder_.CreateSelect(goes_up, upper, lower);
  const Values results =
      loop(lower, upper, step, initial, [&](llvm::Value* index, const Values& carried) {
        if (!is_short(lower, upper, step)) check_in();
        define(region.arguments[0], as_index(index));
        define_carried(statement, region, carried);
        emit_region(region);
        const Statement& yield = *region.statements.back();
        yield_to_loop(yield, offsets);
        const Values values = yield_scalars(yield);
        for (const Value* value : uses_.used_by(yield)) release(value);
        return values;
      });
  end_carried(statement, results);
}

void LlvmEmitter::emit_while(const Statement& statement) {
  Values initial;
  const CarriedTiles offsets = begin_carried(statement, initial);
  llvm::BasicBlock* before = builder_.GetInsertBlock();
  auto* header = llvm::BasicBlock::Create(context_, "while", function_);
  auto* inside = llvm::BasicBlock::Create(context_, "body", function_);
  auto* after = llvm::BasicBlock::Create(context_, "end", function_);
  builder_.CreateBr(header);

  builder_.SetInsertPoint(header);
  Values carried;
  for (llvm::Value* value : initial) {
    llvm::PHINode* phi = builder_.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  const Region& condition = statement.regions.at(0);
  define_carried(statement, condition, carried);
  emit_region(condition);
  const Statement& goes_on = *condition.statements.back();
  builder_.CreateCondBr(llvm_value(scalar(goes_on.operands.at(0))), inside, after);
  for (const Value* value : uses_.used_by(goes_on)) release(value);
  flush_pending_reads();

  builder_.SetInsertPoint(inside);
  check_in();
  define_carried(statement, statement.body(), carried);
  emit_region(statement.body());
  const Statement& yield = *statement.body().statements.back();
  yield_to_loop(yield, offsets);
  const Values next = yield_scalars(yield);
  for (const Value* value : uses_.used_by(yield)) release(value);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    llvm::cast<llvm::PHINode>(carried[i])->addIncoming(next.at(i), builder_.GetInsertBlock());
  }
  builder_.CreateBr(header);
  builder_.SetInsertPoint(after);
  end_carried(statement, carried);
}

}  // namespace tilewire

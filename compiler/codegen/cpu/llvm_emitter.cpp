#include "compiler/codegen/cpu/llvm_emitter.h"

#include <fmt/format.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <cstddef>

#include "compiler/codegen/cpu/abi.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {

LlvmEmitter::LlvmEmitter(const Program& program, const Artifact& artifact)
    : program_(program),
      artifact_(artifact),
      module_(std::make_unique<llvm::Module>(artifact.kernel, context_)),
      builder_(context_),
      scalars_(builder_),
      uses_(program.body) {}

std::string LlvmEmitter::run() {
  begin_function();
  bind_arguments();
  emit_region(program_.body);
  builder_.CreateBr(exit_);
  exit_->insertInto(function_);
  builder_.SetInsertPoint(exit_);
  builder_.CreateRetVoid();

  std::string text;
  llvm::raw_string_ostream stream(text);
  if (llvm::verifyModule(*module_, &stream)) {
    throw InternalError("malformed LLVM IR for `" + artifact_.kernel + "`: " + text);
  }
  module_->print(stream, nullptr);
  return text;
}

void LlvmEmitter::begin_function() {
  llvm::Type* pointer = builder_.getPtrTy();
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), {pointer, pointer}, false);
  function_ =
      llvm::Function::Create(type, llvm::Function::ExternalLinkage, artifact_.entry, module_.get());
  function_->setUWTableKind(llvm::UWTableKind::Default);  // exceptions pass through
  function_->getArg(0)->setName("instance");
  function_->getArg(1)->setName("arguments");
  module_->setSourceFileName(SourceLocation{artifact_.source_file, 1, 1}.file_name());
  exit_ = llvm::BasicBlock::Create(context_, "exit");
  builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", function_));

  llvm::MDBuilder metadata(context_);
  llvm::MDNode* domain = metadata.createAliasScopeDomain("memory");
  arena_scope_ = llvm::MDNode::get(context_, metadata.createAliasScope("arena", domain));
  memory_scope_ = llvm::MDNode::get(context_, metadata.createAliasScope("arguments", domain));
  arena_pointer_ = instance_field(offsetof(CpuInstance, arena), pointer);
  arena_pointer_->setName("arena");
}

void LlvmEmitter::bind_arguments() {
  const auto& arguments = program_.body.arguments;
  const std::size_t num_parameters = program_.parameters.size();
  for (std::size_t i = 0; i < artifact_.arguments.size(); ++i) {
    const ArgumentSlot& slot = artifact_.arguments[i];
    llvm::Value* place =
        builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), function_->getArg(1), i);
    const auto read = [&](llvm::Type* type, const std::string& name) {
      llvm::LoadInst* value = builder_.CreateLoad(type, place, name);
      value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
      return value;
    };
    const auto index = static_cast<std::size_t>(slot.index);
    switch (slot.kind) {
      case ArgumentSlot::Kind::kTensor:
      case ArgumentSlot::Kind::kWindow:
        parameters_[arguments.at(index)] =
            read(builder_.getPtrTy(), program_.parameters.at(index).name);
        break;
      case ArgumentSlot::Kind::kScalar: {
        const Parameter& parameter = program_.parameters.at(index);
        define(arguments.at(index),
               scalars_.from_memory(read(scalars_.memory_type(parameter.dtype), parameter.name),
                                    parameter.dtype));
        break;
      }
      case ArgumentSlot::Kind::kExtent:
        define(arguments.at(num_parameters + index),
               as_index(read(builder_.getInt64Ty(), program_.dimensions.at(index).first)));
        break;
      case ArgumentSlot::Kind::kStride:
        strides_[{slot.index, slot.dimension}] =
            read(builder_.getInt64Ty(), program_.parameters.at(index).name + ".stride");
        break;
      case ArgumentSlot::Kind::kDeviceComm:
      case ArgumentSlot::Kind::kLane:
      case ArgumentSlot::Kind::kCounters:
      case ArgumentSlot::Kind::kTensorMap:
        break;
    }
  }
}

void LlvmEmitter::emit_region(const Region& region) {
  for (const auto& statement : region.statements) emit_statement(*statement);
}

void LlvmEmitter::emit_statement(const Statement& statement) {
  holds_operands_ = false;
  elements_.clear();
  switch (statement.kind) {
    case StatementKind::kOp: {
      const Effect effect = statement.op->effect;
      if (effect == Effect::kReads || effect == Effect::kWrites ||
          effect == Effect::kSynchronises) {
        count_access();
      }
      if (effect == Effect::kWrites || effect == Effect::kSynchronises) flush_pending_reads();
      if (statement.op->emit_cpu == nullptr) {
        throw InternalError(
            fmt::format("{}: `{}` is left after lowering, the CPU has no code for it",
                        statement.location.to_string(), statement.op->name));
      }
      statement.op->emit_cpu(statement, *this);
      break;
    }
    case StatementKind::kFor:
      emit_for(statement);
      holds_operands_ = false;
      break;
    case StatementKind::kWhile:
      emit_while(statement);
      holds_operands_ = false;
      break;
    case StatementKind::kIf:
      emit_if(statement);
      holds_operands_ = false;
      break;
    case StatementKind::kYield:
      break;  // read by the loop or branch that it ends
    case StatementKind::kReturn:
      emit_return();
      break;
  }
  if (statement.kind == StatementKind::kYield) return;
  if (!holds_operands_) {
    for (const Value* value : uses_.used_by(statement)) release(value);
  }
  for (const Value* result : statement.results) {
    if (uses_.num_users(result) == 0) release(result);
  }
}

/// One of the statements that use the value is done. With the last one goes its place in the arena.
void LlvmEmitter::release(const Value* value) {
  const auto found = tiles_.find(value);
  if (found == tiles_.end()) return;
  const auto [remaining, is_first] = remaining_users_.try_emplace(value, uses_.num_users(value));
  if (--remaining->second > 0) return;
  remaining_users_.erase(value);
  const Tile tile = std::move(found->second);
  tiles_.erase(found);
  std::erase(pending_reads_, value);
  if (tile.offset && tile.owns_offset) arena_.release(*tile.offset);
  for (const Value* held : tile.held) release(held);
}

llvm::Value* LlvmEmitter::instance_field(std::size_t offset, llvm::Type* type) {
  llvm::Value* place =
      builder_.CreateConstInBoundsGEP1_64(builder_.getInt8Ty(), function_->getArg(0), offset);
  llvm::LoadInst* field = builder_.CreateLoad(type, place);
  field->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
  return field;
}

CpuScalar LlvmEmitter::scalar(const Value* value) {
  const auto found = scalar_values_.find(value);
  if (found == scalar_values_.end()) {
    throw InternalError(fmt::format("`{}` of type {} has no scalar value here", value->name,
                                    value->type.to_string()));
  }
  return found->second;
}

void LlvmEmitter::define(const Value* result, CpuScalar scalar) {
  scalar_values_[result] = scalar;
  llvm::Value* value = llvm_value(scalar);
  if (!result->name.empty() && !value->hasName() && !llvm::isa<llvm::Constant>(value)) {
    value->setName(result->name);
  }
}

CpuScalar LlvmEmitter::rank() {
  return as_index(instance_field(offsetof(CpuInstance, rank), builder_.getInt64Ty()));
}

CpuScalar LlvmEmitter::program_id(int axis) {
  const std::size_t offset =
      offsetof(CpuInstance, program_id) + sizeof(std::int64_t) * static_cast<std::size_t>(axis);
  return as_index(instance_field(offset, builder_.getInt64Ty()));
}

CpuScalar LlvmEmitter::num_programs(int axis) {
  const std::size_t offset =
      offsetof(CpuInstance, num_programs) + sizeof(std::int64_t) * static_cast<std::size_t>(axis);
  return as_index(instance_field(offset, builder_.getInt64Ty()));
}

CpuScalar LlvmEmitter::in_task() {
  llvm::Value* field = instance_field(offsetof(CpuInstance, in_task), builder_.getInt64Ty());
  return {builder_.CreateICmpNE(field, index_constant(0)), DType::kBool};
}

CpuScalar LlvmEmitter::draw(std::int64_t counter) {
  llvm::Value* counters = instance_field(offsetof(CpuInstance, counters), builder_.getPtrTy());
  llvm::Value* place =
      builder_.CreateConstInBoundsGEP1_64(builder_.getInt64Ty(), counters, counter);
  return as_index(builder_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, place, index_constant(1),
                                           llvm::MaybeAlign(8), llvm::AtomicOrdering::Monotonic));
}

CpuScalar LlvmEmitter::arrive(CpuScalar word, CpuScalar count) {
  llvm::Value* counters = instance_field(offsetof(CpuInstance, counters), builder_.getPtrTy());
  llvm::Value* number = builder_.CreateAdd(
      llvm_value(word), index_constant(artifact_.launch.num_counters), "", true, true);
  llvm::Value* place = builder_.CreateInBoundsGEP(builder_.getInt64Ty(), counters, number);
  llvm::Value* last = builder_.CreateSub(llvm_value(count), index_constant(1));
  llvm::Value* before =
      builder_.CreateAtomicRMW(llvm::AtomicRMWInst::UIncWrap, place, last, llvm::MaybeAlign(8),
                               llvm::AtomicOrdering::AcquireRelease);
  return {builder_.CreateICmpEQ(before, last), DType::kBool};
}

void LlvmEmitter::call_runtime(std::string_view name, std::span<const CpuScalar> arguments) {
  std::vector<llvm::Type*> types = {builder_.getPtrTy()};
  Values values = {function_->getArg(0)};
  for (const CpuScalar argument : arguments) {
    values.push_back(llvm_value(argument));
    types.push_back(values.back()->getType());
  }
  const auto callee =
      module_->getOrInsertFunction(llvm::StringRef(name.data(), name.size()),
                                   llvm::FunctionType::get(builder_.getVoidTy(), types, false));
  builder_.CreateCall(callee, values);
}

}  // namespace tilewire

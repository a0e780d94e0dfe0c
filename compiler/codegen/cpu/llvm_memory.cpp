#include <fmt/format.h>

#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/codegen/cpu/llvm_formats.h"
#include "compiler/support/error.h"

namespace tilewire {

CpuScalar LlvmEmitter::stride(const Value* parameter, std::int64_t dimension) {
  for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
    if (program_.body.arguments[i] != parameter) continue;
    const auto found = strides_.find({static_cast<int>(i), static_cast<int>(dimension)});
    if (found != strides_.end()) return as_index(found->second);
  }
  throw InternalError("no argument holds the stride of `" + parameter->name + "`");
}

void LlvmEmitter::define_address(const Statement& statement, const Value* parameter,
                                 const Value* rank, const Value* offset) {
  const auto found = parameters_.find(parameter);
  if (found == parameters_.end()) {
    throw InternalError("`" + parameter->name + "` is not a tensor or window parameter");
  }
  llvm::Value* base = found->second;
  if (parameter->type.memory != Memory::kTensor) {
    llvm::Value* member = llvm_value(rank == nullptr ? this->rank() : scalar(rank));
    if (rank != nullptr) member = world_rank(statement, member);
    llvm::Value* place = builder_.CreateInBoundsGEP(builder_.getPtrTy(), base, member);
    llvm::LoadInst* address = builder_.CreateLoad(builder_.getPtrTy(), place);
    address->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    base = address;
  }
  const DType dtype = statement.result()->type.dtype;
  llvm::Value* pointer =
      builder_.CreateGEP(scalars_.memory_type(dtype), base, llvm_value(scalar(offset)));
  define(statement.result(), {pointer, dtype});
}

void LlvmEmitter::define_pointer(const Statement& statement, const Value* pointer,
                                 const Value* offset) {
  const DType dtype = statement.result()->type.dtype;
  define(statement.result(),
         {builder_.CreateGEP(scalars_.memory_type(dtype), llvm_value(scalar(pointer)),
                             llvm_value(scalar(offset))),
          dtype});
}

/// A member of this rank's LSA team → its rank in the world. One that doesn't exist is the
/// program's error; it must not become an access to memory.
llvm::Value* LlvmEmitter::world_rank(const Statement& statement, llvm::Value* member) {
  llvm::Value* is_member = builder_.CreateICmpULT(member, index_constant(program_.lsa_size));
  if (!llvm::isa<llvm::ConstantInt>(is_member) ||
      llvm::cast<llvm::ConstantInt>(is_member)->isZero()) {
    branch(
        is_member, [] { return Values(); },
        [&] {
          const CpuScalar arguments[] = {
              as_index(member),
              scalars_.integer(program_.lsa_size, kIndex),
              scalars_.integer(program_.lsa_size == program_.world_size ? 1 : 0, kIndex),
              {builder_.CreateGlobalStringPtr(statement.location.file_name()), DType::kI8},
              scalars_.integer(statement.location.line, kIndex)};
          call_runtime("tilewire_no_such_rank", arguments);
          return Values();
        });
  }
  if (program_.lsa_size == program_.world_size) return member;
  const CpuScalar team_size = scalars_.integer(program_.lsa_size, kIndex);
  const CpuScalar own = scalars_.mod(rank(), team_size);
  return llvm_value(scalars_.add(scalars_.sub(rank(), own), as_index(member)));
}

/// The address of an element of an access.
llvm::Value* LlvmEmitter::address(const TileAccess& access, const Type& type,
                                  const CpuIndex& index) {
  llvm::Value* offset = nullptr;
  for (std::size_t i = 0; i < access.dimensions.size(); ++i) {
    const AccessDimension& dimension = access.dimensions[i];
    if (dimension.dynamic_stride == nullptr && dimension.stride == 0) continue;
    llvm::Value* step = llvm_value(index[i]);
    if (dimension.dynamic_stride != nullptr) {
      step = builder_.CreateMul(step, llvm_value(scalar(dimension.dynamic_stride)));
    } else if (dimension.stride != 1) {
      step = builder_.CreateMul(step, index_constant(dimension.stride));
    }
    offset = offset == nullptr ? step : builder_.CreateAdd(offset, step);
  }
  if (access.offsets != nullptr) {
    llvm::Value* further = llvm_value(offset_of(access, index));
    offset = offset == nullptr ? further : builder_.CreateAdd(offset, further);
  }
  if (offset == nullptr) return llvm_value(scalar(access.pointer));
  return builder_.CreateGEP(scalars_.memory_type(type.dtype), llvm_value(scalar(access.pointer)),
                            offset);
}

/// How many elements further an index tile puts an element.
CpuScalar LlvmEmitter::offset_of(const TileAccess& access, const CpuIndex& index) {
  const auto first = index.begin() + static_cast<std::ptrdiff_t>(access.gather);
  return element(access.offsets, CpuIndex(first, first + access.offsets->type.rank()));
}

void LlvmEmitter::if_exists(const TileAccess& access, const CpuIndex& index,
                            const std::function<void()>& body) {
  llvm::Value* exists = nullptr;
  const auto require = [&](llvm::Value* condition) {
    exists = exists == nullptr ? condition : builder_.CreateAnd(exists, condition);
  };
  if (access.where != nullptr) require(llvm_value(operand_element(access.where, index)));
  if (access.offsets != nullptr) {
    require(builder_.CreateICmpNE(llvm_value(offset_of(access, index)),
                                  index_constant(TileAccess::kOutside)));
  }
  if (exists == nullptr) return body();
  const auto run = [&] {
    body();
    return Values();
  };
  branch(exists, run, [] { return Values(); });
}

CpuScalar LlvmEmitter::load_memory(llvm::Value* pointer, DType dtype) {
  llvm::LoadInst* bits = builder_.CreateLoad(scalars_.memory_type(dtype), pointer);
  bits->setMetadata(llvm::LLVMContext::MD_alias_scope, memory_scope_);
  bits->setMetadata(llvm::LLVMContext::MD_noalias, arena_scope_);
  return scalars_.from_memory(bits, dtype);
}

void LlvmEmitter::store_memory(llvm::Value* pointer, CpuScalar x) {
  llvm::StoreInst* store = builder_.CreateStore(scalars_.to_memory(x), pointer);
  store->setMetadata(llvm::LLVMContext::MD_alias_scope, memory_scope_);
  store->setMetadata(llvm::LLVMContext::MD_noalias, arena_scope_);
}

void LlvmEmitter::load(const Statement& statement, const TileAccess& access) {
  const Type& type = statement.result()->type;
  if (!type.is_tile()) return load_scalar(statement, access);
  if (access.is_masked()) return load_masked(statement, access);
  Tile tile;
  tile.reads_memory = true;
  tile.function = [this, access, type](ScalarEmitter&, const CpuIndex& index) {
    return load_memory(address(access, type, index), type.dtype);
  };
  place(statement, std::move(tile));
}

void LlvmEmitter::load_scalar(const Statement& statement, const TileAccess& access) {
  const Type& type = statement.result()->type;
  llvm::Value* condition = builder_.getTrue();
  for (const Value* part : {access.predicate, access.where}) {
    if (part != nullptr) condition = builder_.CreateAnd(condition, llvm_value(scalar(part)));
  }
  const Values loaded = branch(
      condition,
      [&] { return Values{llvm_value(load_memory(address(access, type, {}), type.dtype))}; },
      [&] {
        const CpuScalar other = access.other != nullptr
                                    ? scalar(access.other)
                                    : scalars_.cast(scalars_.integer(0, kIndex), type.dtype);
        return Values{llvm_value(other)};
      });
  define(statement.result(), {loaded[0], type.dtype});
}

/// The elements that are inside form a box (and index tiles may have holes): unless the box is the
/// whole tile, everything is set to `other`; then the box is read.
void LlvmEmitter::load_masked(const Statement& statement, const TileAccess& access) {
  const Value* result = statement.result();
  const Type& type = result->type;
  if (uses_.num_users(result) == 0) return;
  const std::int64_t offset = allocate(type);
  const std::vector<Bounds> inside = inside_bounds(access);
  llvm::Value* is_whole = builder_.getInt1(access.where == nullptr && access.offsets == nullptr);
  for (std::size_t i = 0; i < inside.size(); ++i) {
    llvm::Value* count = builder_.CreateSub(inside[i].upper, inside[i].lower);
    is_whole = builder_.CreateAnd(
        is_whole, builder_.CreateICmpEQ(count, index_constant(access.dimensions.at(i).size)));
  }
  branch(
      is_whole, [] { return Values(); },
      [&] {
        write_elements(offset, type, [&](ScalarEmitter&, const CpuIndex& index) {
          if (access.other != nullptr) return operand_element(access.other, index);
          return scalars_.cast(scalars_.integer(0, kIndex), type.dtype);
        });
        return Values();
      });
  // Narrow floats go over as bits: nothing has to be decoded to be copied.
  const DType word = num_bytes(type.dtype) == 1 ? DType::kU8 : DType::kU16;
  const Type copied = is_narrow_float(type.dtype) ? type.with_dtype(word) : type;
  loops(inside, [&](const CpuIndex& index) {
    if_exists(access, index, [&] {
      llvm::Value* place = address(access, copied, index);
      store_arena(offset, copied, index, load_memory(place, copied.dtype));
    });
  });
  Tile tile;
  tile.offset = offset;
  tile.same_position = {offset};
  tiles_[result] = std::move(tile);
}

void LlvmEmitter::store(const Statement&, const TileAccess& access) {
  const Type& type = access.tile->type;
  loops(inside_bounds(access), [&](const CpuIndex& index) {
    if_exists(access, index, [&] {
      store_memory(address(access, type, index), operand_element(access.tile, index));
    });
  });
}

/// Per dimension, the indices inside the view; none in the first one where the predicate is false.
/// An access of rank 0 that has a predicate is one dimension of 0 or 1 elements, whose index nobody
/// looks at.
std::vector<LlvmEmitter::Bounds> LlvmEmitter::inside_bounds(const TileAccess& access) {
  std::vector<Bounds> bounds;
  const auto clamp = [&](llvm::Value* value, std::int64_t size) {
    value = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value, index_constant(0));
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, value, index_constant(size));
  };
  for (const AccessDimension& dimension : access.dimensions) {
    Bounds inside{index_constant(0), index_constant(dimension.size)};
    if (dimension.mask) {
      llvm::Value* begin = llvm_value(scalar(dimension.mask->begin));
      llvm::Value* bound = llvm_value(scalar(dimension.mask->bound));
      inside.lower = clamp(builder_.CreateNeg(begin), dimension.size);
      inside.upper = clamp(builder_.CreateSub(bound, begin), dimension.size);
    }
    bounds.push_back(inside);
  }
  if (access.predicate != nullptr) {
    if (bounds.empty()) bounds.push_back({index_constant(0), index_constant(1)});
    bounds[0].upper = builder_.CreateSelect(llvm_value(scalar(access.predicate)), bounds[0].upper,
                                            index_constant(0));
  }
  return bounds;
}

}  // namespace tilewire

#include "compiler/codegen/cuda/multimem.h"

#include <fmt/format.h>

#include <cctype>

#include "compiler/codegen/cuda/access.h"
#include "compiler/ops/memory.h"

namespace tilewire {
namespace {

constexpr int kLeastBytes = 4;

/// `tw::MultimemAdd`
std::string operation_of(const Statement& statement) {
  std::string name = statement.text("operation");
  name.front() = static_cast<char>(std::toupper(name.front()));
  return "tw::Multimem" + name;
}

const Value* window_of(const Statement& statement) {
  return parameter_behind(statement.operands.front());
}

/// `, x_copies` where the write may need them.
std::string copies_text(const Statement& statement, CudaEmitter& emitter) {
  return writes_single_copies(statement) ? ", " + emitter.copies(window_of(statement)) : "";
}

/// `name(…)` of a write; `how`: template arguments behind the tile's type.
void emit_write(const Statement& statement, CudaEmitter& emitter, std::string_view name,
                const std::string& operation) {
  emitter.include("multimem.cuh");
  const TileAccess access = TileAccess::of(statement);
  const std::string copies = copies_text(statement, emitter);
  if (access.dimensions.empty()) {
    const std::string condition = scalar_condition(access, emitter);
    const std::string how = operation.empty() ? "" : fmt::format("<{}>", operation);
    return emitter.statement(fmt::format("if (threadIdx.x == 0{}) tw::{}_one{}({}, {}{});",
                                         condition.empty() ? "" : " && " + condition, name, how,
                                         emitter.argument(access.pointer),
                                         emitter.argument(access.tile), copies));
  }
  const Type type = tile_type(statement, access);
  std::string tile = emitter.argument(access.tile);
  if (access.tile->type.is_scalar()) {
    tile = fmt::format("tw::full<{}>({})", emitter.type(type), tile);
  }
  const std::string how = operation.empty() ? "" : ", " + operation;
  emitter.statement(
      fmt::format("tw::{}<{}, {}{}>({}, {}, {}{});", name, emitter.type(type),
                  vector_of(access, type), how, access_text(access, type, statement, emitter, true),
                  tile, access.where == nullptr ? "true" : emitter.argument(access.where), copies));
}

}  // namespace

bool writes_only_single_copies(const Statement& statement) {
  const TileAccess access = TileAccess::of(statement);
  if (access.tile == nullptr) return false;
  const int vector =
      access.dimensions.empty() ? 1 : vector_of(access, tile_type(statement, access));
  return vector * num_bytes(access.pointer->type.dtype) < kLeastBytes;
}

bool writes_single_copies(const Statement& statement) {
  if (writes_only_single_copies(statement)) return true;
  const TileAccess access = TileAccess::of(statement);
  if (access.tile == nullptr || num_bytes(access.pointer->type.dtype) >= kLeastBytes) return false;
  return access.where != nullptr || access.dimensions.back().mask.has_value();
}

int multimem_shared_bytes(const Statement& statement, int num_threads) {
  return access_shared_bytes(statement, num_threads);
}

void emit_multimem_load_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("multimem.cuh");
  const TileAccess access = TileAccess::of(statement);
  const Value* result = statement.result();
  const Value* window = window_of(statement);
  const std::string name = window == nullptr ? "all" : window->name;
  const std::string other = access.other != nullptr
                                ? emitter.argument(access.other)
                                : fmt::format("{}{{}}", device_type(result->type.dtype));
  if (access.dimensions.empty()) {
    const std::string condition = scalar_condition(access, emitter);
    const std::string text = fmt::format("tw::multimem_load_one<{}>({})", operation_of(statement),
                                         emitter.argument(access.pointer));
    return emitter.define_here(
        result, condition.empty() ? text : fmt::format("{} ? {} : {}", condition, text, other),
        name + "_reduced");
  }
  emitter.define_here(
      result,
      fmt::format("tw::multimem_load<{}, {}, {}>({}, {}, {})", emitter.type(result->type),
                  vector_of(access, result->type), operation_of(statement),
                  access_text(access, result->type, statement, emitter, true), other,
                  access.where == nullptr ? "true" : emitter.argument(access.where)),
      name + "_reduced");
}

void emit_multimem_store_cuda(const Statement& statement, CudaEmitter& emitter) {
  emit_write(statement, emitter, "multimem_store", "");
}

void emit_multimem_reduce_cuda(const Statement& statement, CudaEmitter& emitter) {
  emit_write(statement, emitter, "multimem_reduce", operation_of(statement));
}

void emit_fence_aliases_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.include("multimem.cuh");
  emitter.statement("tw::fence_aliases();");
}

}  // namespace tilewire

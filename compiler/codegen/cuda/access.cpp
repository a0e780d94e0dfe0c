#include "compiler/codegen/cuda/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/ops/memory.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr int kMaxVectorBytes = 16;

/// Elements per instruction: what the layout keeps together and the access allows.
int vector_of(const TileAccess& access, const Type& tile) {
  const std::int64_t row = access.dimensions.back().size;
  const std::int64_t vector =
      std::gcd(std::gcd<std::int64_t>(tile.layout.vector, access.vector), row);
  return static_cast<int>(std::min<std::int64_t>(vector, kMaxVectorBytes / num_bytes(tile.dtype)));
}

bool is_one_piece(const TileAccess& access) {
  std::int64_t stride = 1;
  for (auto it = access.dimensions.rbegin(); it != access.dimensions.rend(); ++it) {
    if (it->stride != stride || it->mask.has_value()) return false;
    stride *= it->size;
  }
  return true;
}

std::string dimension_text(const AccessDimension& dimension, const CudaEmitter& emitter) {
  const std::string stride = dimension.dynamic_stride != nullptr
                                 ? emitter.operand(dimension.dynamic_stride, Binding::kChoose)
                                 : emitter.size(dimension.stride);
  const std::string size = emitter.size(dimension.size);
  if (!dimension.mask.has_value()) return fmt::format("tw::dim<{}>({})", size, stride);
  return fmt::format("tw::masked_dim<{}>({}, {}, {})", size, stride,
                     emitter.operand(dimension.mask->begin, Binding::kChoose),
                     emitter.operand(dimension.mask->bound, Binding::kChoose));
}

/// `pointer` where the tile lies there in one piece, else an access that spells out where.
std::string access_text(const TileAccess& access, CudaEmitter& emitter) {
  const std::string pointer = emitter.argument(access.pointer);
  const bool one_piece = is_one_piece(access);
  if (one_piece && access.predicate == nullptr && access.where == nullptr) return pointer;
  std::string dimensions;
  if (one_piece) {
    std::int64_t size = 1;
    for (const AccessDimension& dimension : access.dimensions) size *= dimension.size;
    dimensions = fmt::format(", tw::dim<{}>(1)", emitter.size(size));
  } else {
    for (const AccessDimension& dimension : access.dimensions) {
      dimensions += ", " + dimension_text(dimension, emitter);
    }
  }
  if (access.predicate == nullptr) return fmt::format("tw::access({}{})", pointer, dimensions);
  return fmt::format("tw::access_if({}, {}{})", emitter.operand(access.predicate, Binding::kChoose),
                     pointer, dimensions);
}

/// The conditions under which a single element exists; empty: always.
std::string scalar_condition(const TileAccess& access, CudaEmitter& emitter) {
  std::string condition;
  for (const Value* value : {access.predicate, access.where}) {
    if (value == nullptr) continue;
    if (!condition.empty()) condition += " && ";
    condition += emitter.operand(value, Binding::kAnd);
  }
  return condition;
}

void require_layout(const Value* other, const Type& tile, const Statement& statement) {
  if (other == nullptr || !other->type.is_tile() || other->type.layout == tile.layout) return;
  throw InternalError("a mask or a replacement is spread over threads unlike its tile",
                      statement.location);
}

std::string name_of_base(const TileAccess& access) {
  const Statement* address = access.pointer->definition;
  return address == nullptr || address->operands.empty() ? "loaded"
                                                         : address->operands.front()->name;
}

}  // namespace

void emit_tile_load_cuda(const Statement& statement, CudaEmitter& emitter) {
  const TileAccess access = TileAccess::of(statement);
  const Value* result = statement.result();
  const std::string hint = name_of_base(access) + (access.dimensions.empty() ? "_value" : "_tile");
  const std::string other = access.other != nullptr
                                ? emitter.argument(access.other)
                                : fmt::format("{}{{}}", device_type(result->type.dtype));
  if (access.dimensions.empty()) {
    const std::string condition = scalar_condition(access, emitter);
    const std::string element = "*" + emitter.operand(access.pointer, Binding::kUnary);
    const std::string text =
        condition.empty() ? element : fmt::format("{} ? {} : {}", condition, element, other);
    return emitter.define_here(result, text, hint);
  }
  require_layout(access.where, result->type, statement);
  require_layout(access.other, result->type, statement);
  emitter.include("memory.cuh");
  std::string arguments = access_text(access, emitter);
  if (access.other != nullptr || access.where != nullptr) arguments += ", " + other;
  if (access.where != nullptr) arguments += ", " + emitter.argument(access.where);
  emitter.define_here(result,
                      fmt::format("tw::load<{}, {}>({})", emitter.type(result->type),
                                  vector_of(access, result->type), arguments),
                      hint);
}

void emit_tile_store_cuda(const Statement& statement, CudaEmitter& emitter) {
  const TileAccess access = TileAccess::of(statement);
  if (access.dimensions.empty()) {
    const std::string condition = scalar_condition(access, emitter);
    return emitter.statement(fmt::format(
        "if (threadIdx.x == 0{}) *{} = {};", condition.empty() ? "" : " && " + condition,
        emitter.operand(access.pointer, Binding::kUnary), emitter.argument(access.tile)));
  }
  emitter.include("memory.cuh");
  Type type = access.tile->type;
  std::string tile = emitter.argument(access.tile);
  if (type.is_scalar()) {
    type = Type::tile(type.dtype, statement.integers("shape"));
    type.layout.vector = access.where != nullptr && access.where->type.is_tile()
                             ? access.where->type.layout.vector
                             : access.vector;
    tile = fmt::format("tw::full<{}>({})", emitter.type(type), tile);
  }
  require_layout(access.where, type, statement);
  std::string arguments = fmt::format("{}, {}", access_text(access, emitter), tile);
  if (access.where != nullptr) arguments += ", " + emitter.argument(access.where);
  emitter.statement(fmt::format("tw::store<{}>({});", vector_of(access, type), arguments));
}

}  // namespace tilewire

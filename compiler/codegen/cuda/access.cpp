#include "compiler/codegen/cuda/access.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/memory.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr int kMaxVectorBytes = 16;
constexpr int kLineBytes = 128;  // of the L2 cache

}  // namespace

int vector_of(const TileAccess& access, const Type& tile) {
  const std::int64_t row = access.dimensions.back().size;
  const std::int64_t vector =
      std::gcd(std::gcd<std::int64_t>(tile.layout.vector, access.vector), row);
  return static_cast<int>(std::min<std::int64_t>(vector, kMaxVectorBytes / num_bytes(tile.dtype)));
}

namespace {

bool is_one_piece(const TileAccess& access) {
  if (access.offsets != nullptr) return false;
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

/// Whether each thread holds the offsets of the elements that it holds itself.
bool are_offsets_held(const TileAccess& access, const Type& tile) {
  return access.offsets->type.shape == tile.shape && access.offsets->type.layout == tile.layout;
}

/// `access`, together with how far each element lies behind it.
std::string gathered_text(const std::string& text, const TileAccess& access, const Type& tile,
                          const Statement& statement, CudaEmitter& emitter) {
  emitter.include("gather.cuh");
  const std::string offsets = emitter.argument(access.offsets);
  if (are_offsets_held(access, tile)) return fmt::format("tw::gathered({}, {})", text, offsets);
  return fmt::format("tw::gathered_through<{}, {}>({}, {}, {})", emitter.extents(tile),
                     emitter.extents(Type::tile(kIndex, access.offsets_shape())), text, offsets,
                     emitter.shared(statement));
}

/// `, tw::Cache::kStreaming` where an access says how caches should treat it.
std::string cache_text(const Statement& statement) {
  static const std::map<std::string_view, std::string_view> names = {
      {"streaming", "kStreaming"}, {"last", "kLast"}, {"l2", "kL2"}, {"through", "kThrough"}};
  if (statement.has("cache")) {
    return fmt::format(", tw::Cache::{}", names.at(statement.text("cache")));
  }
  return statement.flag("constant") ? ", tw::Cache::kConstant" : "";
}

/// Whether the tile lies in one piece and every element of it is there.
bool is_plain(const TileAccess& access) {
  return is_one_piece(access) && access.predicate == nullptr && access.where == nullptr;
}

}  // namespace

Type tile_type(const Statement& statement, const TileAccess& access) {
  if (access.tile == nullptr) return statement.result()->type;
  Type type = access.tile->type;
  if (!type.is_scalar()) return type;
  type = Type::tile(type.dtype, statement.integers("shape"));
  type.layout.vector = access.vector;
  for (const Value* value : {access.offsets, access.where}) {
    if (value != nullptr && value->type.is_tile() && value->type.shape == type.shape) {
      type.layout = value->type.layout;
    }
  }
  return type;
}

std::string access_text(const TileAccess& access, const Type& tile, const Statement& statement,
                        CudaEmitter& emitter, bool is_spelled_out) {
  const std::string pointer = emitter.argument(access.pointer);
  if (is_plain(access) && !is_spelled_out) return pointer;
  return access_at(pointer, access, tile, statement, emitter);
}

std::string access_at(const std::string& pointer, const TileAccess& access, const Type& tile,
                      const Statement& statement, CudaEmitter& emitter) {
  const bool one_piece = is_one_piece(access);
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
  const std::string text =
      access.predicate == nullptr
          ? fmt::format("tw::access({}{})", pointer, dimensions)
          : fmt::format("tw::access_if({}, {}{})",
                        emitter.operand(access.predicate, Binding::kChoose), pointer, dimensions);
  return access.offsets == nullptr ? text : gathered_text(text, access, tile, statement, emitter);
}

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

namespace {

std::string name_of_base(const TileAccess& access) {
  const Statement* address = access.pointer->definition;
  if (address != nullptr && address->is("pointer_cast")) {
    address = address->operands.front()->definition;
  }
  return address == nullptr || address->operands.empty() ? "loaded"
                                                         : address->operands.front()->name;
}

}  // namespace

int access_shared_bytes(const Statement& statement, int) {
  const TileAccess access = TileAccess::of(statement);
  if (access.offsets == nullptr || are_offsets_held(access, tile_type(statement, access))) return 0;
  return static_cast<int>(access.offsets->type.num_elements()) * num_bytes(kIndex);
}

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
  const bool in_pieces = emitter.comes_in_pieces(result);
  const auto define = [&](std::string_view function, int vector, std::string_view shared) {
    const std::string text = fmt::format(
        "tw::{}<{}, {}{}>({}{})", function, emitter.type(result->type), vector,
        cache_text(statement), access_text(access, result->type, statement, emitter, true), shared);
    return in_pieces ? emitter.define_in_pieces(result, text, hint)
                     : emitter.define_here(result, text, hint);
  };
  if (goes_as_rows(statement)) {
    emitter.include("fragment_rows.cuh");
    return define(in_pieces ? "rows_in_pieces" : "load_rows", access.vector,
                  ", " + emitter.rows_place());
  }
  if (in_pieces) return define("columns_in_pieces", vector_of(access, result->type), "");
  std::string arguments = access_text(access, result->type, statement, emitter);
  const bool has_other = access.other != nullptr && !is_plain(access);
  if (has_other || access.where != nullptr) arguments += ", " + other;
  if (access.where != nullptr) arguments += ", " + emitter.argument(access.where);
  emitter.define_here(
      result,
      fmt::format("tw::load<{}, {}{}>({})", emitter.type(result->type),
                  vector_of(access, result->type), cache_text(statement), arguments),
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
  const Type type = tile_type(statement, access);
  std::string tile = emitter.argument(access.tile);
  if (access.tile->type.is_scalar()) {
    tile = fmt::format("tw::full<{}>({})", emitter.type(type), tile);
  }
  require_layout(access.where, type, statement);
  if (goes_as_rows(statement)) {
    emitter.include("fragment_rows.cuh");
    return emitter.statement(fmt::format(
        "tw::store_rows<{}{}>({}, {}, {});", access.vector, cache_text(statement),
        access_text(access, type, statement, emitter, true), tile, emitter.rows_place()));
  }
  std::string arguments =
      fmt::format("{}, {}", access_text(access, type, statement, emitter), tile);
  if (access.where != nullptr) arguments += ", " + emitter.argument(access.where);
  emitter.statement(fmt::format("tw::store<{}{}>({});", vector_of(access, type),
                                cache_text(statement), arguments));
}

void emit_tile_prefetch_cuda(const Statement& statement, CudaEmitter& emitter) {
  const TileAccess access = TileAccess::of(statement);
  emitter.include("prefetch.cuh");
  const int bytes = num_bytes(access.pointer->type.dtype);
  const bool is_contiguous = access.dimensions.empty() || access.dimensions.back().stride == 1;
  const bool is_in_task = emitter.is_in_task();
  emitter.statement(
      fmt::format("tw::prefetch<{}, {}{}>({});", is_in_task ? "tw::kWarpThreads" : "kThreads",
                  is_contiguous ? kLineBytes / bytes : 1, is_in_task ? ", tw::TaskWarp" : "",
                  access_text(access, {}, statement, emitter, true)));
}

}  // namespace tilewire

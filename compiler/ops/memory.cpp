#include "compiler/ops/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/access.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/support/error.h"

namespace tilewire {

Type accessed_type(const OpCall& call, const Type& view) {
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == kDynamic) {
      call.fail(fmt::format(
          "dimension {} of {} is known only at run time, a tile's shape is static; take "
          "a part of it with tw.ds(start, size), or make the extent a tw.const",
          i, view.to_string()));
    }
  }
  if (view.shape.empty()) return Type::scalar(view.dtype);
  require_tile_shape(call, view.shape);
  return Type::tile(view.dtype, view.shape);
}

const AttributeSpec kCacheSpec = {"cache", AttributeSpec::Kind::kText, false,
                                  "how long caches keep it: `streaming`, `last`, `l2`, `through`"};

void check_where(const OpCall& call, std::size_t operand, const Type& tile) {
  const Type& where = call.operands[operand];
  if (where.dtype != DType::kBool || (where.is_tile() && where.shape != tile.shape) ||
      !(where.is_tile() || where.is_scalar())) {
    call.fail(fmt::format("where= is {}; it takes bool of shape {}", where.to_string(),
                          shape_to_string(tile.shape)));
  }
}

void check_fits(const OpCall& call, const Type& value, const Type& tile, std::string_view what) {
  const bool has_shape = value.is_scalar() || (value.is_tile() && value.shape == tile.shape);
  if (value.dtype != tile.dtype || !has_shape) {
    call.fail(fmt::format("{} is {}; the view is {} of shape {}", what, value.to_string(),
                          name_of(tile.dtype), shape_to_string(tile.shape)));
  }
}

namespace {

void check_offsets(const OpCall& call, std::size_t operand, const Type& tile) {
  const Type& offsets = require_tile(call, operand);
  const std::int64_t first = integer_attribute(call, "gather");
  bool fits = offsets.dtype == kIndex && first >= 0 && first + offsets.rank() <= tile.rank();
  for (int i = 0; fits && i < offsets.rank(); ++i) {
    fits = offsets.shape[static_cast<std::size_t>(i)] ==
           tile.shape[static_cast<std::size_t>(first + i)];
  }
  if (!fits) {
    call.fail(fmt::format("offsets {} from dimension {} of shape {} on", offsets.to_string(), first,
                          shape_to_string(tile.shape)));
  }
}

}  // namespace

void check_access(const OpCall& call, const Type& tile, std::size_t next) {
  const auto& strides = integers_attribute(call, "strides");
  const auto& masked = integers_attribute(call, "masked");
  if (strides.size() != tile.shape.size() || masked.size() != tile.shape.size()) {
    call.fail(fmt::format("{} strides and {} masks for shape {}", strides.size(), masked.size(),
                          shape_to_string(tile.shape)));
  }
  std::size_t num_indices = 0;
  for (const std::int64_t stride : strides) num_indices += stride == kDynamic ? 1 : 0;
  for (const std::int64_t mask : masked) num_indices += mask != 0 ? 2 : 0;
  const bool has_gather = call.attributes.find("gather") != call.attributes.end();
  const std::size_t expected = next + num_indices + (flag_attribute(call, "predicated") ? 1 : 0) +
                               (has_gather ? 1 : 0) + (flag_attribute(call, "other") ? 1 : 0) +
                               (flag_attribute(call, "where") ? 1 : 0);
  if (call.operands.size() != expected) {
    call.fail(
        fmt::format("{} operands where its attributes ask for {}", call.operands.size(), expected));
  }
  for (; num_indices > 0; --num_indices) require_index(call, next++);
  if (flag_attribute(call, "predicated") && call.operands[next++] != Type::scalar(DType::kBool)) {
    call.fail("the predicate is not a bool");
  }
  if (has_gather) check_offsets(call, next++, tile);
  if (flag_attribute(call, "other")) check_fits(call, call.operands[next++], tile, "other=");
  if (flag_attribute(call, "where")) check_where(call, next++, tile);
}

constexpr AttributeSpec kMoved = {"moved", AttributeSpec::Kind::kBool, false,
                                  "the mover's from when roles are split"};

std::vector<AttributeSpec> access_attributes() {
  return {
      {"shape", AttributeSpec::Kind::kIntegers, true, "of the tile; empty: one element"},
      {"strides", AttributeSpec::Kind::kIntegers, true, "in elements; -1: an operand holds it"},
      {"masked", AttributeSpec::Kind::kIntegers, true, "1 where begin and bound are operands"},
      {"predicated", AttributeSpec::Kind::kBool, false, "a bool guards the whole access"},
      {"gather", AttributeSpec::Kind::kInteger, false,
       "an i64 tile of offsets, for the tile's dimensions from this one on"},
      {"other", AttributeSpec::Kind::kBool, false, "an operand holds what masked elements become"},
      {"where", AttributeSpec::Kind::kBool, false, "a bool tile masks further"},
      {"cache", AttributeSpec::Kind::kText, false, "how long caches keep it"},
      {"constant", AttributeSpec::Kind::kBool, false,
       "nobody writes this memory during the launch"},
      {"vector", AttributeSpec::Kind::kInteger, true, "elements contiguous and aligned together"}};
}

const std::vector<std::string_view>& load_cache_hints() {
  static const std::vector<std::string_view> hints = {"streaming", "last", "l2"};
  return hints;
}

const std::vector<std::string_view>& store_cache_hints() {
  static const std::vector<std::string_view> hints = {"streaming", "last", "l2", "through"};
  return hints;
}

namespace {

/// Attribute `cache`, where there is one.
void check_cache(const OpCall& call, const std::vector<std::string_view>& allowed) {
  if (call.attributes.find("cache") != call.attributes.end()) {
    require_one_of(call, "cache", allowed);
  }
}

std::vector<Type> infer_load(const OpCall& call) {
  const Type loaded = accessed_type(call, require_view(call, 0));
  std::size_t next = 1;
  const std::size_t expected =
      1U + (flag_attribute(call, "other") ? 1U : 0U) + (flag_attribute(call, "where") ? 1U : 0U);
  if (call.operands.size() != expected)
    call.fail("operands: view, then other and where if flagged");
  if (flag_attribute(call, "other")) check_fits(call, call.operands[next++], loaded, "other=");
  if (flag_attribute(call, "where")) check_where(call, next, loaded);
  check_cache(call, load_cache_hints());
  return {loaded};
}

std::vector<Type> infer_store(const OpCall& call) {
  const Type loaded = accessed_type(call, require_view(call, 0));
  check_fits(call, call.operands[1], loaded, "the stored value");
  const bool has_where = flag_attribute(call, "where");
  if (call.operands.size() != (has_where ? 3U : 2U))
    call.fail("operands: view, value, where if flagged");
  if (has_where) check_where(call, 2, loaded);
  check_cache(call, store_cache_hints());
  return {};
}

std::vector<Type> infer_tile_load(const OpCall& call) {
  const Type& pointer = require_pointer(call, 0);
  const auto& shape = integers_attribute(call, "shape");
  const Type tile = shape.empty() ? Type::scalar(pointer.dtype) : Type::tile(pointer.dtype, shape);
  check_access(call, tile, 1);
  check_cache(call, load_cache_hints());
  return {tile};
}

std::vector<Type> infer_tile_store(const OpCall& call) {
  const Type& pointer = require_pointer(call, 0);
  const auto& shape = integers_attribute(call, "shape");
  const Type tile = shape.empty() ? Type::scalar(pointer.dtype) : Type::tile(pointer.dtype, shape);
  check_fits(call, call.operands[1], tile, "the stored value");
  check_access(call, tile, 2);
  check_cache(call, store_cache_hints());
  return {};
}

void emit_cpu_tile_load(const Statement& statement, CpuEmitter& emitter) {
  emitter.load(statement, TileAccess::of(statement));
}

void emit_cpu_tile_store(const Statement& statement, CpuEmitter& emitter) {
  emitter.store(statement, TileAccess::of(statement));
}

OpInfo load_op() {
  OpInfo op;
  op.name = "load";
  op.summary = "A tile read from a view; elements outside it are 0, or `other`.";
  op.min_operands = 1;
  op.max_operands = 3;
  op.attributes = {
      {"other", AttributeSpec::Kind::kBool, false, "an operand holds what masked elements become"},
      {"where", AttributeSpec::Kind::kBool, false, "a bool tile says which elements are read"},
      kCacheSpec};
  op.effect = Effect::kReads;
  op.stage = Stage::kFrontend;
  op.infer = infer_load;
  return op;
}

OpInfo store_op() {
  OpInfo op;
  op.name = "store";
  op.summary = "Writes a tile to a view; elements outside it are dropped.";
  op.min_operands = 2;
  op.max_operands = 3;
  op.attributes = {
      {"where", AttributeSpec::Kind::kBool, false, "a bool tile says which elements are written"},
      kCacheSpec};
  op.effect = Effect::kWrites;
  op.stage = Stage::kFrontend;
  op.infer = infer_store;
  return op;
}

OpInfo tile_load_op() {
  OpInfo op;
  op.name = "tile_load";
  op.summary = "A tile read from an address, with its strides and masks spelled out.";
  op.min_operands = 1;
  op.max_operands = -1;
  op.attributes = access_attributes();
  op.attributes.push_back(kMoved);
  op.effect = Effect::kReads;
  op.stage = Stage::kLowered;
  op.infer = infer_tile_load;
  op.emit_cpu = emit_cpu_tile_load;
  op.emit_cuda = emit_tile_load_cuda;
  op.cuda_shared_bytes = access_shared_bytes;
  return op;
}

OpInfo tile_store_op() {
  OpInfo op;
  op.name = "tile_store";
  op.summary = "A tile written to an address, with its strides and masks spelled out.";
  op.min_operands = 2;
  op.max_operands = -1;
  op.attributes = access_attributes();
  std::erase_if(op.attributes, [](const AttributeSpec& spec) {
    return spec.name == "other" || spec.name == "constant";
  });
  op.attributes.push_back(kMoved);
  op.effect = Effect::kWrites;
  op.stage = Stage::kLowered;
  op.infer = infer_tile_store;
  op.emit_cpu = emit_cpu_tile_store;
  op.emit_cuda = emit_tile_store_cuda;
  op.cuda_shared_bytes = access_shared_bytes;
  return op;
}

}  // namespace

const Value* parameter_of(const Value* view) {
  while (view->definition != nullptr) view = view->definition->operands.at(0);
  return view;
}

const Statement* view_op_behind(const Value* view, std::string_view name) {
  for (const Statement* made = view->definition; made != nullptr && !made->operands.empty();
       made = made->operands[0]->definition) {
    if (made->is(name)) return made;
  }
  return nullptr;
}

const Statement* address_behind(const Value* pointer) {
  const Statement* made = pointer->definition;
  if (made != nullptr && made->is("pointer_cast")) made = made->operands.at(0)->definition;
  return made != nullptr && made->is("address") ? made : nullptr;
}

const Value* parameter_behind(const Value* pointer) {
  const Statement* address = address_behind(pointer);
  return address != nullptr ? address->operands.at(0) : nullptr;
}

bool may_share_memory(const Program& program, const Value* a, const Value* b) {
  const auto parameter = [&program](const Value* value) -> const Parameter* {
    for (const Parameter& each : program.parameters) {
      if (each.value == value) return &each;
    }
    return nullptr;
  };
  const Parameter* of_a = parameter(a);
  const Parameter* of_b = parameter(b);
  if (a == b || of_a == nullptr || of_b == nullptr) return true;
  return std::ranges::equal(of_a->shape, of_b->shape, [](const Dimension& x, const Dimension& y) {
    return x.size == y.size || x.size == kDynamic || y.size == kDynamic;
  });
}

TileAccess TileAccess::of(const Statement& statement) {
  TileAccess access;
  std::size_t next = 0;
  const auto take = [&] { return statement.operands.at(next++); };
  if (statement.is("network_store")) {
    next = 3;  // window, rank, place
  } else {
    access.pointer = take();
  }
  for (const char* name :
       {"tile_store", "tile_atomic", "network_store", "multimem_store", "multimem_reduce"}) {
    if (statement.is(name)) access.tile = take();
  }
  if (statement.is("tile_atomic") && statement.text("kind") == "cas") access.compare = take();
  const auto& shape = statement.integers("shape");
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t stride = statement.integers("strides").at(i);
    access.dimensions.push_back({shape[i], stride, stride == kDynamic ? take() : nullptr, {}});
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (statement.integers("masked").at(i) == 0) continue;
    Value* begin = take();
    access.dimensions[i].mask = AccessMask{begin, take()};
  }
  if (statement.flag("predicated")) access.predicate = take();
  if (statement.has("gather")) {
    access.offsets = take();
    access.gather = static_cast<std::size_t>(statement.integer("gather"));
  }
  if (statement.flag("other")) access.other = take();
  if (statement.flag("where")) access.where = take();
  access.vector = static_cast<int>(statement.integer("vector"));
  return access;
}

bool TileAccess::is_masked() const {
  bool any = predicate != nullptr || where != nullptr || offsets != nullptr;
  for (const AccessDimension& dimension : dimensions) any |= dimension.mask.has_value();
  return any;
}

std::vector<std::int64_t> TileAccess::offsets_shape() const {
  std::vector<std::int64_t> shape(dimensions.size(), 1);
  std::copy(offsets->type.shape.begin(), offsets->type.shape.end(),
            shape.begin() + static_cast<std::ptrdiff_t>(gather));
  return shape;
}

std::vector<OpInfo> memory_ops() {
  return {load_op(), store_op(), tile_load_op(), tile_store_op()};
}

}  // namespace tilewire

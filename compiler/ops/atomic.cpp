#include "compiler/ops/atomic.h"

#include <fmt/format.h>

#include <map>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/atomic.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/object_access.h"

namespace tilewire {
namespace {

const std::map<std::string_view, AtomicKind>& kinds() {
  static const std::map<std::string_view, AtomicKind> kinds = {
      {"add", AtomicKind::kAdd},           {"min", AtomicKind::kMin}, {"max", AtomicKind::kMax},
      {"and", AtomicKind::kAnd},           {"or", AtomicKind::kOr},   {"xor", AtomicKind::kXor},
      {"exchange", AtomicKind::kExchange}, {"cas", AtomicKind::kCas}};
  return kinds;
}

const std::map<std::string_view, AtomicOrder>& orders() {
  static const std::map<std::string_view, AtomicOrder> orders = {{"relaxed", AtomicOrder::kRelaxed},
                                                                 {"acquire", AtomicOrder::kAcquire},
                                                                 {"release", AtomicOrder::kRelease},
                                                                 {"acq_rel", AtomicOrder::kAcqRel}};
  return orders;
}

/// `tw.add` is the one that orders nothing.
std::string called(const Attributes& attributes) {
  const auto text = [&](const char* name) -> std::string {
    const auto found = attributes.find(name);
    const auto* value =
        found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
    return value == nullptr ? "" : *value;
  };
  const std::string kind = text("kind");
  return kind == "add" && text("order") == "relaxed" ? "add" : "atomic_" + kind;
}

void check_attributes(const OpCall& call) {
  require_one_of(call, "kind", {"add", "min", "max", "and", "or", "xor", "exchange", "cas"});
  require_one_of(call, "order", {"relaxed", "acquire", "release", "acq_rel"});
  require_one_of(call, "scope", {"cta", "gpu", "system"});
}

/// The value, then what it is compared with.
std::size_t num_values(const OpCall& call) { return text_attribute(call, "kind") == "cas" ? 2 : 1; }

std::vector<Type> infer_atomic(const OpCall& call) {
  check_attributes(call);
  const Type loaded = accessed_type(call, require_view(call, 0));
  check_atomic(call, text_attribute(call, "kind"), loaded.dtype);
  const std::size_t values = num_values(call);
  const bool has_where = flag_attribute(call, "where");
  if (call.operands.size() != 1 + values + (has_where ? 1 : 0)) {
    call.fail("operands: view, value, for cas what to compare with, where if flagged");
  }
  for (std::size_t i = 1; i <= values; ++i) {
    if (call.operands[i] == loaded) continue;
    call.fail(fmt::format("the value is {}; the view is {} of shape {}",
                          call.operands[i].to_string(), name_of(loaded.dtype),
                          shape_to_string(loaded.shape)));
  }
  if (has_where) check_where(call, 1 + values, loaded);
  return {loaded};
}

std::vector<Type> infer_tile_atomic(const OpCall& call) {
  check_attributes(call);
  const Type& pointer = require_pointer(call, 0);
  check_atomic(call, text_attribute(call, "kind"), pointer.dtype);
  const auto& shape = integers_attribute(call, "shape");
  const Type tile = shape.empty() ? Type::scalar(pointer.dtype) : Type::tile(pointer.dtype, shape);
  const std::size_t values = num_values(call);
  for (std::size_t i = 1; i <= values; ++i) {
    if (call.operands[i].dtype != tile.dtype || call.operands[i].shape != tile.shape) {
      call.fail("a value of another type than the access");
    }
  }
  check_access(call, tile, 1 + values);
  if (!flag_attribute(call, "returns")) return {};
  return {tile};
}

void emit_cpu_tile_atomic(const Statement& statement, CpuEmitter& emitter) {
  emitter.atomic(statement, TileAccess::of(statement), Atomic::of(statement));
}

std::vector<AttributeSpec> atomic_attributes() {
  return {
      {"kind", AttributeSpec::Kind::kText, true,
       "`add`, `min`, `max`, `and`, `or`, `xor`, `exchange` or `cas`"},
      {"order", AttributeSpec::Kind::kText, true, "`relaxed`, `acquire`, `release` or `acq_rel`"},
      {"scope", AttributeSpec::Kind::kText, true, "`cta`, `gpu` or `system`"}};
}

OpInfo atomic_op() {
  OpInfo op;
  op.name = "atomic";
  op.called = called;
  op.summary =
      "Changes each element of a view in one step, and gives what it was before; 0 outside the "
      "view.";
  op.min_operands = 2;
  op.max_operands = 4;
  op.attributes = atomic_attributes();
  op.attributes.push_back(
      {"where", AttributeSpec::Kind::kBool, false, "a bool tile says which elements are changed"});
  op.effect = Effect::kWrites;
  op.stage = Stage::kFrontend;
  op.infer = infer_atomic;
  return op;
}

OpInfo tile_atomic_op() {
  OpInfo op;
  op.name = "tile_atomic";
  op.summary = "`atomic` at an address, with its strides and masks spelled out.";
  op.min_operands = 2;
  op.max_operands = -1;
  op.attributes = access_attributes();
  std::erase_if(op.attributes, [](const AttributeSpec& spec) {
    return spec.name == "other" || spec.name == "cache" || spec.name == "constant";
  });
  for (const AttributeSpec& spec : atomic_attributes()) op.attributes.push_back(spec);
  op.attributes.push_back(
      {"returns", AttributeSpec::Kind::kBool, false, "somebody looks at what was there before"});
  op.effect = Effect::kWrites;
  op.stage = Stage::kLowered;
  op.infer = infer_tile_atomic;
  op.resources = needs_atomics;
  op.emit_cpu = emit_cpu_tile_atomic;
  op.emit_cuda = emit_tile_atomic_cuda;
  op.cuda_shared_bytes = atomic_shared_bytes;
  return op;
}

}  // namespace

void check_atomic(const OpCall& call, std::string_view kind, DType dtype) {
  const bool is_bitwise = kind == "and" || kind == "or" || kind == "xor";
  if (is_bitwise && is_float(dtype)) {
    call.fail(fmt::format("works on the bits of integers, found {}", name_of(dtype)));
  }
  const bool is_half = dtype == DType::kF16 || dtype == DType::kBF16;
  if (num_bytes(dtype) >= 4 || is_half) return;
  call.fail(
      fmt::format("works on i32, u32, i64, u64, f16, bf16, f32 and f64, found {}", name_of(dtype)));
}

Atomic Atomic::of(const Statement& statement) {
  return {kinds().at(statement.text("kind")), orders().at(statement.text("order")),
          statement.text("scope")};
}

bool Atomic::acquires() const {
  return order == AtomicOrder::kAcquire || order == AtomicOrder::kAcqRel;
}

bool Atomic::releases() const {
  return order == AtomicOrder::kRelease || order == AtomicOrder::kAcqRel;
}

std::vector<OpInfo> atomic_ops() { return {atomic_op(), tile_atomic_op()}; }

}  // namespace tilewire

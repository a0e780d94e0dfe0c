#include "compiler/ops/multimem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <vector>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/multimem.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"

namespace tilewire {
namespace {

constexpr std::array kOperations = {"add", "min", "max", "and", "or", "xor"};

using D = DType;

// dtype, operation, ld_reduce, red, accumulator, capability, specific, PTX type, elements
constexpr MultimemReduction kReductions[] = {
    {D::kF32, "add", true, true, D::kF32, 90, false, "f32", 1},
    {D::kF64, "add", true, true, D::kF64, 90, false, "f64", 1},
    {D::kF16, "add", true, true, D::kF32, 90, false, "f16x2", 2},
    {D::kF16, "min", true, true, D::kF16, 90, false, "f16x2", 2},
    {D::kF16, "max", true, true, D::kF16, 90, false, "f16x2", 2},
    {D::kBF16, "add", true, true, D::kF32, 90, false, "bf16x2", 2},
    {D::kBF16, "min", true, true, D::kBF16, 90, false, "bf16x2", 2},
    {D::kBF16, "max", true, true, D::kBF16, 90, false, "bf16x2", 2},
    {D::kE4M3, "add", true, false, D::kF16, 100, true, "e4m3x4", 4},
    {D::kE4M3, "min", true, false, D::kE4M3, 100, true, "e4m3x4", 4},
    {D::kE4M3, "max", true, false, D::kE4M3, 100, true, "e4m3x4", 4},
    {D::kE5M2, "add", true, false, D::kF16, 100, true, "e5m2x4", 4},
    {D::kE5M2, "min", true, false, D::kE5M2, 100, true, "e5m2x4", 4},
    {D::kE5M2, "max", true, false, D::kE5M2, 100, true, "e5m2x4", 4},
    {D::kI32, "add", true, true, D::kI32, 90, false, "s32", 1},
    {D::kI32, "min", true, true, D::kI32, 90, false, "s32", 1},
    {D::kI32, "max", true, true, D::kI32, 90, false, "s32", 1},
    {D::kI32, "and", true, true, D::kI32, 90, false, "b32", 1},
    {D::kI32, "or", true, true, D::kI32, 90, false, "b32", 1},
    {D::kI32, "xor", true, true, D::kI32, 90, false, "b32", 1},
    {D::kU32, "add", true, true, D::kU32, 90, false, "u32", 1},
    {D::kU32, "min", true, true, D::kU32, 90, false, "u32", 1},
    {D::kU32, "max", true, true, D::kU32, 90, false, "u32", 1},
    {D::kU32, "and", true, true, D::kU32, 90, false, "b32", 1},
    {D::kU32, "or", true, true, D::kU32, 90, false, "b32", 1},
    {D::kU32, "xor", true, true, D::kU32, 90, false, "b32", 1},
    {D::kI64, "add", true, true, D::kI64, 90, false, "u64", 1},  // the same bits; s64 has no add
    {D::kI64, "min", true, true, D::kI64, 90, false, "s64", 1},
    {D::kI64, "max", true, true, D::kI64, 90, false, "s64", 1},
    {D::kI64, "and", true, true, D::kI64, 90, false, "b64", 1},
    {D::kI64, "or", true, true, D::kI64, 90, false, "b64", 1},
    {D::kI64, "xor", true, true, D::kI64, 90, false, "b64", 1},
    {D::kU64, "add", true, true, D::kU64, 90, false, "u64", 1},
    {D::kU64, "min", true, true, D::kU64, 90, false, "u64", 1},
    {D::kU64, "max", true, true, D::kU64, 90, false, "u64", 1},
    {D::kU64, "and", true, true, D::kU64, 90, false, "b64", 1},
    {D::kU64, "or", true, true, D::kU64, 90, false, "b64", 1},
    {D::kU64, "xor", true, true, D::kU64, 90, false, "b64", 1},
};

bool has(const Target& target, const MultimemReduction& each, MultimemUse use) {
  if (use == MultimemUse::kLoad ? !each.loads : !each.stores) return false;
  if (!target.is_cuda()) return true;
  const char last = target.architecture.back();
  return target.compute_capability >= each.capability &&
         (!each.is_specific || last == 'a' || last == 'f');
}

std::vector<Type> infer_multicast(const OpCall& call) {
  const Type& window = require_any_view(call, 0);
  if (window.memory != Memory::kWindow) {
    call.fail(fmt::format("{} has no copies that are read and written at once; a window has",
                          window.to_string()));
  }
  require_one_of(call, "team", {"world", "lsa"});
  return {window};
}

void check_operation(const OpCall& call) {
  require_operation(call, text_attribute(call, "operation"));
}

Type accessed(const OpCall& call) {
  const Type& pointer = require_pointer(call, 0);
  const auto& shape = integers_attribute(call, "shape");
  return shape.empty() ? Type::scalar(pointer.dtype) : Type::tile(pointer.dtype, shape);
}

std::vector<Type> infer_multimem_load(const OpCall& call) {
  check_operation(call);
  const Type tile = accessed(call);
  check_access(call, tile, 1);
  return {tile};
}

std::vector<Type> infer_multimem_store(const OpCall& call) {
  const Type tile = accessed(call);
  check_fits(call, call.operands[1], tile, "the stored value");
  check_access(call, tile, 2);
  return {};
}

std::vector<Type> infer_multimem_reduce(const OpCall& call) {
  check_operation(call);
  return infer_multimem_store(call);
}

std::vector<Type> infer_nothing(const OpCall&) { return {}; }

Resources multimem_resources(const Statement&) {
  Resources resources;
  resources.multimem = true;
  return resources;
}

void emit_cpu_multimem(const Statement& statement, CpuEmitter& emitter) {
  emitter.multimem(statement, TileAccess::of(statement));
}

void emit_cpu_nothing(const Statement&, CpuEmitter&) {}

OpInfo multicast_op() {
  OpInfo op;
  op.name = "multicast";
  op.summary =
      "All copies of a window in the LSA team at once: a place to reduce from and write to.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"team", AttributeSpec::Kind::kText, true,
                    "whose copies are meant: `world`, which must be one LSA team, or `lsa`"}};
  op.stage = Stage::kFrontend;
  op.infer = infer_multicast;
  return op;
}

/// What the three accesses have in common.
OpInfo access_op(std::string_view name, std::string_view summary, int min_operands) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = min_operands;
  op.max_operands = -1;
  op.attributes = access_attributes();
  std::erase_if(op.attributes, [](const AttributeSpec& spec) {
    return spec.name == "constant" || spec.name == "cache";
  });
  op.effect = min_operands > 1 ? Effect::kWrites : Effect::kReads;
  op.stage = Stage::kLowered;
  op.resources = multimem_resources;
  op.emit_cpu = emit_cpu_multimem;
  op.cuda_shared_bytes = multimem_shared_bytes;
  return op;
}

const AttributeSpec kOperationSpec = {"operation", AttributeSpec::Kind::kText, true,
                                      "`add`, `min`, `max`, `and`, `or` or `xor`"};

OpInfo multimem_load_op() {
  OpInfo op = access_op("multimem_load",
                        "A tile reduced from all copies at a multicast address, in no order.", 1);
  op.attributes.push_back(kOperationSpec);
  op.infer = infer_multimem_load;
  op.emit_cuda = emit_multimem_load_cuda;
  return op;
}

OpInfo multimem_store_op() {
  OpInfo op =
      access_op("multimem_store", "A tile written to all copies at a multicast address.", 2);
  std::erase_if(op.attributes, [](const AttributeSpec& spec) { return spec.name == "other"; });
  op.infer = infer_multimem_store;
  op.emit_cuda = emit_multimem_store_cuda;
  return op;
}

OpInfo multimem_reduce_op() {
  OpInfo op = access_op("multimem_reduce",
                        "A tile reduced into all copies at a multicast address, unordered.", 2);
  std::erase_if(op.attributes, [](const AttributeSpec& spec) { return spec.name == "other"; });
  op.attributes.push_back(kOperationSpec);
  op.infer = infer_multimem_reduce;
  op.emit_cuda = emit_multimem_reduce_cuda;
  return op;
}

OpInfo fence_aliases_op() {
  OpInfo op;
  op.name = "fence_aliases";
  op.summary =
      "Orders accesses through a multicast address and those through a rank's own, which the GPU "
      "takes for different memory.";
  op.effect = Effect::kWrites;
  op.stage = Stage::kLowered;
  op.infer = infer_nothing;
  op.emit_cpu = emit_cpu_nothing;
  op.emit_cuda = emit_fence_aliases_cuda;
  return op;
}

}  // namespace

std::span<const MultimemReduction> multimem_reductions() { return kReductions; }

bool has_multimem(const Target& target, DType dtype, std::string_view operation, MultimemUse use) {
  return target.multimem && std::ranges::any_of(kReductions, [&](const MultimemReduction& each) {
           return each.dtype == dtype && each.operation == operation && has(target, each, use);
         });
}

std::string multimem_of(const Target& target, MultimemUse use) {
  // Operations of the same dtypes are named together. No op reduces bits into all copies.
  std::vector<std::pair<std::vector<std::string_view>, std::vector<std::string_view>>> groups;
  const std::size_t num_operations = use == MultimemUse::kLoad ? kOperations.size() : 3;
  for (const std::string_view operation : std::span(kOperations).first(num_operations)) {
    std::vector<std::string_view> dtypes;
    for (const MultimemReduction& each : kReductions) {
      if (each.operation == operation && has(target, each, use)) {
        dtypes.push_back(name_of(each.dtype));
      }
    }
    if (!groups.empty() && groups.back().second == dtypes) {
      groups.back().first.push_back(operation);
    } else {
      groups.push_back({{operation}, dtypes});
    }
  }
  std::vector<std::string> texts;
  for (const auto& [operations, dtypes] : groups) {
    texts.push_back(fmt::format("{} of {}", fmt::join(operations, ", "), fmt::join(dtypes, ", ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

const Statement* multicast_behind(const Value* view) { return view_op_behind(view, "multicast"); }

bool is_multimem(const Statement& statement) {
  return statement.is("multimem_load") || statement.is("multimem_store") ||
         statement.is("multimem_reduce");
}

std::vector<OpInfo> multimem_ops() {
  return {multicast_op(), multimem_load_op(), multimem_store_op(), multimem_reduce_op(),
          fence_aliases_op()};
}

}  // namespace tilewire

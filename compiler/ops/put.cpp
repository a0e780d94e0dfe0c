#include "compiler/ops/put.h"

#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/copy.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/task.h"
#include "templates/tilewire/copy_layout.cuh"

namespace tilewire {
namespace {

void check_equal_shape(const OpCall& call, const Type& to, const Type& from) {
  bool fits = to.dtype == from.dtype && to.shape.size() == from.shape.size();
  for (std::size_t i = 0; fits && i < to.shape.size(); ++i) {
    fits = to.shape[i] == from.shape[i] || to.shape[i] == kDynamic || from.shape[i] == kDynamic;
  }
  if (!fits) {
    call.fail(fmt::format("the source is {}; the place is {}: both have one dtype and one shape",
                          from.to_string(), to.to_string()));
  }
  if (to.shape.empty() || to.shape.size() > 4) {
    call.fail(fmt::format("copies views of 1 to 4 dimensions, found {}", to.to_string()));
  }
}

std::vector<Type> infer_put(const OpCall& call) {
  const Type& to = require_view(call, 0);
  if (call.operands[1].is_view()) {
    check_equal_shape(call, to, call.operands[1]);
  } else {
    check_fits(call, call.operands[1], accessed_type(call, to), "the source");
  }
  return {};
}

std::vector<Type> infer_put_value(const OpCall& call) {
  const Type& to = require_view(call, 0);
  if (!to.shape.empty()) {
    call.fail(
        fmt::format("puts one element, and {} has several: index each dimension, or use "
                    "tw.put",
                    to.to_string()));
  }
  check_fits(call, call.operands[1], Type::scalar(to.dtype), "the value");
  return {};
}

std::vector<Type> infer_get(const OpCall& call) {
  check_equal_shape(call, require_view(call, 0), require_view(call, 1));
  return {};
}

std::vector<Type> infer_flush(const OpCall&) { return {}; }

/// The operation of a reduction over all copies.
std::string operation_of(const OpCall& call) {
  const auto found = call.attributes.find("operation");
  return found == call.attributes.end() ? "add" : std::get<std::string>(found->second);
}

/// Checks what the two reductions over all copies have in common; gives the operation.
std::string check_reduction(const OpCall& call, DType dtype) {
  require_one_of(call, "team", {"world", "lsa"});
  const std::string operation = operation_of(call);
  require_operation(call, operation);
  const bool is_bitwise = operation == "and" || operation == "or" || operation == "xor";
  if (is_bitwise && is_float(dtype)) {
    call.fail(fmt::format("op=\"{}\" works on the bits of integers, found {}", operation,
                          name_of(dtype)));
  }
  return operation;
}

std::vector<Type> infer_all_reduce_load(const OpCall& call) {
  require_one_of(call, "order", {"rank", "any"});
  const Type loaded = accessed_type(call, require_view(call, 0));
  const std::string operation = check_reduction(call, loaded.dtype);
  if (operation != "add") return {loaded};
  const DType sum = is_fp8(loaded.dtype) ? DType::kF32 : sum_dtype(call, loaded.dtype);
  return {loaded.with_dtype(sum)};
}

std::vector<Type> infer_reduce_store(const OpCall& call) {
  require_one_of(call, "order", {"any"});
  const Type accessed = accessed_type(call, require_view(call, 0));
  check_atomic(call, check_reduction(call, accessed.dtype), accessed.dtype);
  check_fits(call, call.operands[1], accessed, "the value");
  return {};
}

std::vector<Type> infer_view_copy(const OpCall& call) {
  const Type& to = require_pointer(call, 0);
  if (require_pointer(call, 1) != to) call.fail("pointers to two dtypes");
  if (call.operands.size() < 5 || call.operands.size() % 3 != 2) {
    call.fail("operands: to, from, then extent, to's stride and from's for each dimension");
  }
  for (std::size_t i = 2; i < call.operands.size(); ++i) require_index(call, i);
  return {};
}

std::vector<Type> infer_drain_copies(const OpCall&) { return {}; }

void emit_cpu_view_copy(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t bytes = num_bytes(statement.operands.at(0)->type.dtype);
  const auto rank = static_cast<std::int64_t>(statement.operands.size() / 3);
  const std::int64_t constants[] = {rank, bytes};
  emitter.call_reference(statement, "tilewire_view_copy", constants);
}

void emit_cpu_nothing(const Statement&, CpuEmitter&) {}

const AttributeSpec kTeamSpec = {"team", AttributeSpec::Kind::kText, true, "`world` or `lsa`"};
const AttributeSpec kOperationSpec = {"operation", AttributeSpec::Kind::kText, false,
                                      "`min`, `max`, `and`, `or` or `xor`; absent: `add`"};
const AttributeSpec kMulticastSpec = {"multicast", AttributeSpec::Kind::kBool, false,
                                      "the view is all copies at once: one multimem reduction"};

OpInfo put_op() {
  OpInfo op;
  op.name = "put";
  op.summary =
      "Moves a tile, or what a view holds, to a view of the same shape at any rank; elements that "
      "one of two views doesn't have are left out.";
  op.min_operands = op.max_operands = 2;
  op.effect = Effect::kWrites;
  op.stage = Stage::kFrontend;
  op.infer = infer_put;
  return op;
}

OpInfo put_value_op() {
  OpInfo op;
  op.name = "put_value";
  op.summary = "Writes one element of a view at any rank.";
  op.min_operands = op.max_operands = 2;
  op.effect = Effect::kWrites;
  op.stage = Stage::kFrontend;
  op.infer = infer_put_value;
  return op;
}

OpInfo get_op() {
  OpInfo op;
  op.name = "get";
  op.summary =
      "Moves what a view at any rank holds to a view of the same shape; it is there behind "
      "`flush`.";
  op.min_operands = op.max_operands = 2;
  op.effect = Effect::kWrites;
  op.stage = Stage::kFrontend;
  op.infer = infer_get;
  return op;
}

OpInfo flush_op() {
  OpInfo op;
  op.name = "flush";
  op.summary =
      "Waits until what this instance has put is read, so that its source may be written again, "
      "and "
      "what it gets is there.";
  op.effect = Effect::kSynchronises;
  op.stage = Stage::kFrontend;
  op.infer = infer_flush;
  return op;
}

OpInfo all_reduce_load_op() {
  OpInfo op;
  op.name = "all_reduce_load";
  op.summary =
      "The sum (or another reduction) of all ranks' copies of a view: in rank order, the same bits "
      "on all ranks, or with order `any` in whatever order is fastest. dtypes as for `sum`.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"order", AttributeSpec::Kind::kText, true, "`rank` or `any`"},
                   kTeamSpec,
                   kOperationSpec,
                   kMulticastSpec};
  op.effect = Effect::kReads;
  op.stage = Stage::kFrontend;
  op.infer = infer_all_reduce_load;
  return op;
}

OpInfo reduce_store_op() {
  OpInfo op;
  op.name = "reduce_store";
  op.summary =
      "Adds a tile to a view's copy at every rank (or reduces into it), in no order, rounding each "
      "time: what was there counts too.";
  op.min_operands = op.max_operands = 2;
  op.attributes = {{"order", AttributeSpec::Kind::kText, true, "`any`"},
                   kTeamSpec,
                   kOperationSpec,
                   kMulticastSpec};
  op.effect = Effect::kWrites;
  op.stage = Stage::kFrontend;
  op.infer = infer_reduce_store;
  return op;
}

OpInfo view_copy_op() {
  OpInfo op;
  op.name = "view_copy";
  op.summary = "`put` of a view, with extents and strides spelled out.";
  op.min_operands = 5;
  op.max_operands = -1;
  op.attributes = {{"known", AttributeSpec::Kind::kInteger, true,
                    "bytes that divide addresses, strides and the last dimension"},
                   {"bulk", AttributeSpec::Kind::kBool, false, "it may be large"}};
  op.effect = Effect::kWrites;
  op.stage = Stage::kLowered;
  op.infer = infer_view_copy;
  op.emit_cpu = emit_cpu_view_copy;
  op.emit_cuda = emit_view_copy_cuda;
  return op;
}

OpInfo drain_copies_op() {
  OpInfo op;
  op.name = "drain_copies";
  op.summary =
      "Waits until this instance's bulk copies are done: visible to it, and released by "
      "what releases next.";
  op.effect = Effect::kWrites;
  op.stage = Stage::kLowered;
  op.infer = infer_drain_copies;
  op.emit_cpu = emit_cpu_nothing;
  op.emit_cuda = emit_drain_copies_cuda;
  return op;
}

}  // namespace

std::string operation_of(const Statement& reduction) {
  return reduction.has("operation") ? reduction.text("operation") : "add";
}

ViewCopy ViewCopy::of(const Statement& statement) {
  ViewCopy copy;
  copy.to = statement.operands.at(0);
  copy.from = statement.operands.at(1);
  for (std::size_t i = 2; i + 2 < statement.operands.size(); i += 3) {
    copy.dimensions.push_back(
        {statement.operands[i], statement.operands[i + 1], statement.operands[i + 2]});
  }
  copy.known_bytes = static_cast<int>(statement.integer("known"));
  copy.is_bulk = statement.flag("bulk");
  return copy;
}

bool has_view_copies(const Region& region, bool are_bulk) {
  bool found = false;
  for_each_statement(region, [&](const Statement& statement) {
    found |= statement.is("view_copy") && (!are_bulk || statement.flag("bulk"));
  });
  return found;
}

bool has_bulk_copies(const Program& lowered, const Target& target) {
  return has_view_copies(lowered.body, true) &&
         device::copy_shared_bytes(target.compute_capability) > 0;
}

bool task_has_bulk_copies(const Program& lowered) {
  const Statement* task = find_task(lowered);
  return task != nullptr && has_view_copies(task->regions.at(0), true);
}

std::vector<OpInfo> put_ops() {
  return {put_op(),          put_value_op(), get_op(),         flush_op(), all_reduce_load_op(),
          reduce_store_op(), view_copy_op(), drain_copies_op()};
}

}  // namespace tilewire

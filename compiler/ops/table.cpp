#include <fmt/format.h>

#include <map>

#include "compiler/ops/all_ops.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::vector<OpInfo> make_table() {
  std::vector<OpInfo> table;
  const auto add = [&table](const std::vector<OpInfo>& ops) {
    table.insert(table.end(), ops.begin(), ops.end());
  };
  add(scalar_ops());      // constant, program_id, num_programs, rank
  add(view_ops());        // at, slice, extent, stride, address
  add(memory_ops());      // load, store, tile_load, tile_store
  add(arithmetic_ops());  // add, sub, mul, div, floordiv, mod, minimum, maximum, pow, fma, and, …
  add(comparison_ops());  // eq, ne, lt, le, gt, ge
  add(math_ops());        // neg, not, abs, floor, ceil, exp, exp2, log, log2, sqrt, rsqrt, …
  add(bit_ops());         // shift_left, shift_right, popcount, clz, bitcast
  add({cast_op()});
  add({philox_op()});
  add({select_op()});
  add(shape_ops());  // full, arange, broadcast, reshape, extract
  add({relayout_op()});
  add(reduce_ops());      // sum, max, min, any, all
  add(arg_reduce_ops());  // argmax, argmin
  add(scan_ops());        // cumsum, cumprod
  add(move_ops());        // transpose, part, flip, cat, gather
  add(stack_ops());       // stack
  add(sort_ops());        // sort, argsort
  add({histogram_op()});
  add({matmul_op()});
  add(common_ring_ops());  // begin_slots, copy_operand, fill_slot, await_slot
  add(mover_ops());    // put_tile, take_tile, await_moves, receive_tile, drain_tile, fetch_tile, …
  add(staging_ops());  // operand_load, staged_operand, finish_product, is_producer, hand_over, …
  add(atomic_ops());   // atomic, tile_atomic
  add({inline_cuda_op()});
  add(report_ops());         // print, assert
  add(reshaped_view_ops());  // view, permute, field, inside, pointer_cast
  add(prefetch_ops());       // prefetch, tile_prefetch
  add({next_index_op()});
  add({arrive_op()});
  add(task_ops());     // in_task, join_task
  add(barrier_ops());  // barrier, lsa_barrier, grid_barrier
  add(put_ops());  // put, put_value, flush, all_reduce_load, reduce_store, view_copy, drain_copies
  add(multimem_ops());    // multicast, multimem_load, multimem_store, multimem_reduce, …
  add(semaphore_ops());   // signal, wait, semaphore_signal, semaphore_wait
  add(flag_ops());        // set, flag_set, flag_wait
  add(generation_ops());  // generation, announce, await_done, leave
  add(channel_ops());     // send, recv, exchange, channel_send, …
  add(network_ops());     // network_put, network_store, network_signal, network_barrier, …
  return table;
}

bool has_kind(const Attribute& attribute, AttributeSpec::Kind kind) {
  switch (kind) {
    case AttributeSpec::Kind::kInteger:
      return std::holds_alternative<std::int64_t>(attribute);
    case AttributeSpec::Kind::kFloat:
      return std::holds_alternative<double>(attribute);
    case AttributeSpec::Kind::kBool:
      return std::holds_alternative<bool>(attribute);
    case AttributeSpec::Kind::kText:
      return std::holds_alternative<std::string>(attribute);
    case AttributeSpec::Kind::kDType:
      return std::holds_alternative<DType>(attribute);
    case AttributeSpec::Kind::kAny:
      return true;
    case AttributeSpec::Kind::kIntegers:
      return std::holds_alternative<std::vector<std::int64_t>>(attribute);
  }
  return false;
}

void check_operand_count(const OpCall& call) {
  const int count = static_cast<int>(call.operands.size());
  const OpInfo& op = call.info;
  if (count < op.min_operands || (op.max_operands >= 0 && count > op.max_operands)) {
    call.fail(fmt::format("takes {} operands, got {}",
                          op.max_operands == op.min_operands ? fmt::format("{}", op.min_operands)
                          : op.max_operands < 0
                              ? fmt::format("at least {}", op.min_operands)
                              : fmt::format("{} to {}", op.min_operands, op.max_operands),
                          count));
  }
}

void check_attributes(const OpCall& call) {
  for (const AttributeSpec& spec : call.info.attributes) {
    const auto found = call.attributes.find(spec.name);
    if (found == call.attributes.end()) {
      if (spec.required) call.fail(fmt::format("attribute '{}' is missing", spec.name));
    } else if (!has_kind(found->second, spec.kind)) {
      call.fail(fmt::format("attribute '{}' is {}, of another type than it takes", spec.name,
                            to_string(found->second)));
    }
  }
  for (const auto& [name, value] : call.attributes) {
    bool is_known = false;
    for (const AttributeSpec& spec : call.info.attributes) is_known |= spec.name == name;
    if (!is_known) call.fail(fmt::format("attribute '{}' is unknown", name));
  }
}

}  // namespace

const std::vector<OpInfo>& op_table() {
  static const std::vector<OpInfo> table = make_table();
  return table;
}

const OpInfo* find_op_or_null(std::string_view name) {
  static const std::map<std::string_view, const OpInfo*> by_name = [] {
    std::map<std::string_view, const OpInfo*> map;
    for (const OpInfo& op : op_table()) map.emplace(op.name, &op);
    return map;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

Effect effect_of(const Statement& op) {
  if (op.kind != StatementKind::kOp) return Effect::kPure;
  return op.is("tile_load") && op.flag("constant") ? Effect::kPure : op.op->effect;
}

const OpInfo& find_op(std::string_view name) {
  const OpInfo* op = find_op_or_null(name);
  if (op == nullptr) throw InternalError(fmt::format("there is no op '{}'", name));
  return *op;
}

std::string name_in_program(const OpInfo& info, const Attributes& attributes) {
  return info.called == nullptr ? std::string(info.name) : info.called(attributes);
}

void OpCall::fail(const std::string& message) const {
  throw UserError(fmt::format("{}: {}", name_in_program(info, attributes), message), location);
}

std::vector<Type> infer_types(const OpCall& call) {
  check_operand_count(call);
  check_attributes(call);
  return call.info.infer(call);
}

}  // namespace tilewire

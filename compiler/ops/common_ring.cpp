// What brings operands to shared memory where there is no producer: all threads copy, some slots of
// a ring ahead of the one that they multiply.
#include "compiler/codegen/cuda/common_ring.h"

#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

std::vector<Type> infer_begin_slots(const OpCall&) { return {Type::scalar(kIndex)}; }

std::vector<Type> infer_copy_operand(const OpCall& call) {
  const Type& pointer = require_pointer(call, 0);
  check_access(call, Type::tile(pointer.dtype, integers_attribute(call, "shape")), 1);
  return {};
}

std::vector<Type> infer_nothing(const OpCall&) { return {}; }

/// No other op sees what lies in the ring; the loads that `copy_operand` makes of memory, passes
/// that care ask for by name.
OpInfo ring_op(std::string_view name, std::string_view summary,
               std::vector<Type> (*infer)(const OpCall&),
               void (*emit_cuda)(const Statement&, CudaEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.effect = Effect::kHidden;
  op.stage = Stage::kLowered;
  op.is_for_cuda = true;
  op.infer = infer;
  op.emit_cuda = emit_cuda;
  return op;
}

OpInfo copy_operand_op() {
  OpInfo op = ring_op("copy_operand",
                      "All threads start to copy a matmul's operand to the slot that is being "
                      "filled; elements outside are 0.",
                      infer_copy_operand, emit_copy_operand_cuda);
  op.min_operands = 1;
  op.max_operands = -1;
  op.attributes = access_attributes();
  op.attributes.push_back(
      {"depth", AttributeSpec::Kind::kInteger, true, "the tile's dimension along K"});
  op.attributes.push_back(
      {"offset", AttributeSpec::Kind::kInteger, true, "bytes of the slot before it"});
  return op;
}

}  // namespace

std::vector<OpInfo> common_ring_ops() {
  return {ring_op("begin_slots",
                  "How many slots of the ring are filled before a loop that multiplies out of it.",
                  infer_begin_slots, emit_begin_slots_cuda),
          copy_operand_op(),
          ring_op("fill_slot", "The slot is filled by the copies since the one before, or none.",
                  infer_nothing, emit_fill_slot_cuda),
          ring_op("await_slot",
                  "All threads wait for the next slot, whose operands products take from here on.",
                  infer_nothing, emit_await_slot_cuda)};
}

}  // namespace tilewire

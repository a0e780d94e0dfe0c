#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/object.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/object_access.h"

namespace tilewire {
namespace {

/// Lowering adds the launch's number.
std::vector<Type> infer_set(const OpCall& call) {
  const Type& flag = require_object(call, 0, Memory::kFlag);
  if (flag.rank() != 0) {
    call.fail(fmt::format("sets one flag, {} has {} dimensions left: index them", flag.to_string(),
                          flag.rank()));
  }
  if (call.operands.size() == 2) require_index(call, 1);
  return {};
}

void require_flag_address(const OpCall& call) {
  if (call.operands[0] != Type::pointer(object_dtype(Memory::kFlag))) {
    call.fail("takes the address of a flag");
  }
  require_one_of(call, "scope", {"gpu", "system"});
}

std::vector<Type> infer_flag_set(const OpCall& call) {
  check_object_access(call, 1);
  require_flag_address(call);
  require_index(call, 1);
  check_telling(call);
  return {};
}

std::vector<Type> infer_flag_wait(const OpCall& call) {
  check_object_access(call, 2);
  require_flag_address(call);
  if (call.operands[1] != Type::scalar(DType::kU32))
    call.fail("the number of sets is a u32 scalar");
  require_index(call, 2);
  return {};
}

Resources needs_waiting(const Statement&) {
  Resources resources;
  resources.lane = resources.waits = resources.two_sided = true;
  return resources;
}

/// `wait(ready)`.
std::string describe_wait(const Statement& statement, const Program&) {
  return fmt::format("wait({})", parameter_behind(statement.operands.at(0))->name);
}

void emit_set_cuda(const Statement& statement, CudaEmitter& emitter) {
  const ObjectAccess access = ObjectAccess::of(statement);
  emitter.include("flag.cuh");
  emit_object_op(access, emitter,
                 fmt::format("tw::set_flag<{}>({}, {});", telling_arguments(statement, emitter),
                             emitter.argument(access.pointer), emitter.argument(access.values[0])));
}

void emit_wait_cuda(const Statement& statement, CudaEmitter& emitter) {
  const ObjectAccess access = ObjectAccess::of(statement);
  const std::string group = waiting_group(statement, emitter);
  emitter.include("flag.cuh");
  const std::string arguments =
      fmt::format("{}, {}, {}, lane, {}, {}", emitter.argument(access.pointer),
                  emitter.argument(access.values[1]), emitter.argument(access.values[0]),
                  statement.integer("site"), wait_timeout(statement));
  if (statement.flag("once")) {
    const Value* array = parameter_behind(statement.operands.at(0));
    return emit_object_op(
        access, emitter,
        fmt::format("tw::wait_flag_once<{}, {}>({}, {}.local, {});", object_scope(statement), group,
                    emitter.companion(array, "seen"), emitter.parameter(array), arguments));
  }
  const std::string text =
      access.num_elements() == 1
          ? fmt::format("tw::wait_flag<{}{}>({});", object_scope(statement),
                        group.empty() ? "" : ", " + group, arguments)
          : fmt::format("tw::wait_flags<{}, {}>({}, {});", object_scope(statement),
                        group.empty()
                            ? "kThreads"
                            : (statement.flag("producer") ? "1, " : "tw::kWarpThreads, ") + group,
                        object_slice(access), arguments);
  emit_object_op(access, emitter, text);
}

void emit_cpu_set(const Statement& statement, CpuEmitter& emitter) {
  const ObjectAccess access = ObjectAccess::of(statement);
  const CpuScalar arguments[] = {emitter.scalar(access.pointer), emitter.scalar(access.values[0]),
                                 emitter.scalars().integer(statement.location.line)};
  emitter.call_runtime("tilewire_set_flag", arguments);
}

void emit_cpu_wait(const Statement& statement, CpuEmitter& emitter) {
  emitter.call_reference(statement, "tilewire_wait_flags", wait_constants(statement));
}

OpInfo set_op() {
  OpInfo op;
  op.name = "set";
  op.summary =
      "Counts a set of a flag in this launch, behind everything that this instance did before; "
      "whoever waits for it sees that.";
  op.min_operands = 1;
  op.max_operands = 2;
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = true, .waits = false};
  op.stage = Stage::kFrontend;
  op.lowered = [](Memory) -> std::string_view { return "flag_set"; };
  op.infer = infer_set;
  return op;
}

OpInfo flag_set_op() {
  OpInfo op;
  op.name = "flag_set";
  op.summary = "A set of the flag at an address, in a generation.";
  op.min_operands = 2;
  op.max_operands = 3;
  op.attributes = object_access_attributes();
  op.attributes.insert(op.attributes.end(), {kTellingOrder, kObjectScope, kToldScope, kByMover});
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = true, .waits = false};
  op.stage = Stage::kLowered;
  op.infer = infer_flag_set;
  op.resources = needs_atomics;
  op.emit_cpu = emit_cpu_set;
  op.emit_cuda = emit_set_cuda;
  return op;
}

OpInfo flag_wait_op() {
  OpInfo op;
  op.name = "flag_wait";
  op.summary = "A wait for the flags at an address, in a generation.";
  op.min_operands = 3;
  op.max_operands = 4;
  op.attributes = object_access_attributes();
  op.attributes.insert(op.attributes.end(),
                       {kObjectScope, kPatient, kByProducer, kByMover, kOnce, kWaitSite});
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = false, .waits = true};
  op.stage = Stage::kLowered;
  op.infer = infer_flag_wait;
  op.resources = needs_waiting;
  op.wait_site = describe_wait;
  op.emit_cpu = emit_cpu_wait;
  op.emit_cuda = emit_wait_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> flag_ops() { return {set_op(), flag_set_op(), flag_wait_op()}; }

}  // namespace tilewire

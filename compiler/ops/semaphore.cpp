#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/object.h"
#include "compiler/codegen/cuda/report.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/object_access.h"

namespace tilewire {
namespace {

constexpr AttributeSpec kChecked = {"checked", AttributeSpec::Kind::kBool, false,
                                    "ends the launch where another instance waits too"};

void require_count(const OpCall& call, std::size_t operand) {
  if (call.operands[operand] == Type::scalar(DType::kU32)) return;
  call.fail(fmt::format("the number of signals is {}, it takes a u32 scalar",
                        call.operands[operand].to_string()));
}

std::vector<Type> infer_signal(const OpCall& call) {
  const Type& semaphore = require_object(call, 0, Memory::kSemaphore);
  if (semaphore.rank() != 0) {
    call.fail(fmt::format("goes to one semaphore, {} has {} dimensions left: index them",
                          semaphore.to_string(), semaphore.rank()));
  }
  require_count(call, 1);
  return {};
}

/// Of flags, lowering adds the launch's number.
std::vector<Type> infer_wait(const OpCall& call) {
  const bool is_flag = require_any_view(call, 0).memory == Memory::kFlag;
  if (!is_flag) require_object(call, 0, Memory::kSemaphore);
  if (call.operands.size() == 3) {
    if (!is_flag) call.fail("a semaphore has no launches");
    require_index(call, 2);
  }
  require_count(call, 1);
  return {};
}

std::vector<Type> infer_lowered(const OpCall& call) {
  check_object_access(call, 1);
  if (call.operands[0] != Type::pointer(object_dtype(Memory::kSemaphore))) {
    call.fail("takes the address of a semaphore");
  }
  require_count(call, 1);
  require_one_of(call, "scope", {"gpu", "system"});
  return {};
}

std::vector<Type> infer_semaphore_signal(const OpCall& call) {
  check_telling(call);
  return infer_lowered(call);
}

Resources needs_waiting(const Statement& statement) {
  Resources resources;
  resources.lane = resources.waits = true;
  resources.network = statement.flag("network");
  return resources;
}

/// `wait(sem)`.
std::string describe_wait(const Statement& statement, const Program&) {
  const Value* place = statement.operands.at(0);
  while (!place->type.is_view() || place->definition != nullptr) {
    place = place->definition->operands.at(0);
  }
  return fmt::format("wait({})", place->name);
}

void emit_signal_cuda(const Statement& statement, CudaEmitter& emitter) {
  const ObjectAccess access = ObjectAccess::of(statement);
  emitter.include("semaphore.cuh");
  emit_object_op(
      access, emitter,
      fmt::format("tw::signal_semaphore<{}>({}, {});", telling_arguments(statement, emitter),
                  emitter.argument(access.pointer), emitter.argument(access.values[0])));
}

std::string wait_call(const Statement& statement, const ObjectAccess& access,
                      const std::string& arguments, bool is_in_task) {
  const bool is_one = access.num_elements() == 1;
  if (statement.flag("network")) {
    return is_one ? fmt::format("tw::wait_network_semaphore({});", arguments)
                  : fmt::format("tw::wait_network_semaphores<kThreads>({}, {});",
                                object_slice(access), arguments);
  }
  const std::string_view scope = object_scope(statement);
  return is_one ? fmt::format("tw::wait_semaphore<{}{}>({});", scope,
                              is_in_task ? ", tw::TaskWarp" : "", arguments)
                : fmt::format("tw::wait_semaphores<{}, {}>({}, {});", scope,
                              is_in_task ? "tw::kWarpThreads, tw::TaskWarp" : "kThreads",
                              object_slice(access), arguments);
}

void emit_wait_cuda(const Statement& statement, CudaEmitter& emitter) {
  const ObjectAccess access = ObjectAccess::of(statement);
  const bool network = statement.flag("network");
  emitter.include(network ? "network_semaphore.cuh" : "semaphore.cuh");
  std::string arguments =
      network ? emitter.parameter(parameter_behind(access.pointer)) + ", " : std::string();
  arguments += fmt::format("{}, {}, lane, {}{}, {}", emitter.argument(access.pointer),
                           emitter.argument(access.values[0]), network ? "comm, " : "",
                           statement.integer("site"), wait_timeout(statement));
  if (statement.flag("checked")) {
    arguments +=
        ", " + assertion("two program instances wait for one semaphore", statement, emitter);
  }
  emit_object_op(access, emitter, wait_call(statement, access, arguments, emitter.is_in_task()));
}

void emit_cpu_signal(const Statement& statement, CpuEmitter& emitter) {
  const ObjectAccess access = ObjectAccess::of(statement);
  const CpuScalar arguments[] = {emitter.scalar(access.pointer), emitter.scalar(access.values[0])};
  emitter.call_runtime("tilewire_signal_semaphore", arguments);
}

void emit_cpu_wait(const Statement& statement, CpuEmitter& emitter) {
  emitter.call_reference(statement, "tilewire_wait_semaphores", wait_constants(statement));
}

OpInfo signal_op() {
  OpInfo op;
  op.name = "signal";
  op.summary =
      "Adds n to a semaphore, behind everything that this instance did before; whoever waits for "
      "it sees that.";
  op.min_operands = op.max_operands = 2;
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = true, .waits = false};
  op.stage = Stage::kFrontend;
  op.lowered = [](Memory) -> std::string_view { return "semaphore_signal"; };
  op.infer = infer_signal;
  return op;
}

OpInfo wait_op() {
  OpInfo op;
  op.name = "wait";
  op.summary =
      "Waits until each semaphore of a view has n signals left, and takes them; one instance waits "
      "for a semaphore. Or until each flag of a view was set n times in this launch, by any number "
      "of instances.";
  op.min_operands = 2;
  op.max_operands = 3;
  op.attributes = {kPatient, kByProducer, kWaitSite, kOverNetwork};
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = false, .waits = true};
  op.stage = Stage::kFrontend;
  op.lowered = [](Memory memory) -> std::string_view {
    return memory == Memory::kFlag ? "flag_wait" : "semaphore_wait";
  };
  op.infer = infer_wait;
  op.wait_site = describe_wait;
  return op;
}

OpInfo semaphore_signal_op() {
  OpInfo op;
  op.name = "semaphore_signal";
  op.summary = "A signal to the semaphore at an address.";
  op.min_operands = 2;
  op.max_operands = 3;
  op.attributes = object_access_attributes();
  op.attributes.insert(op.attributes.end(), {kTellingOrder, kObjectScope, kToldScope, kByMover});
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = true, .waits = false};
  op.stage = Stage::kLowered;
  op.infer = infer_semaphore_signal;
  op.resources = needs_atomics;
  op.emit_cpu = emit_cpu_signal;
  op.emit_cuda = emit_signal_cuda;
  return op;
}

OpInfo semaphore_wait_op() {
  OpInfo op;
  op.name = "semaphore_wait";
  op.summary = "A wait for the semaphores at an address.";
  op.min_operands = 2;
  op.max_operands = 3;
  op.attributes = object_access_attributes();
  op.attributes.insert(op.attributes.end(),
                       {kObjectScope, kPatient, kWaitSite, kChecked, kOverNetwork});
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = false, .waits = true};
  op.stage = Stage::kLowered;
  op.infer = infer_lowered;
  op.resources = needs_waiting;
  op.wait_site = describe_wait;
  op.emit_cpu = emit_cpu_wait;
  op.emit_cuda = emit_wait_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> semaphore_ops() {
  return {signal_op(), wait_op(), semaphore_signal_op(), semaphore_wait_op()};
}

}  // namespace tilewire

// What launches that take a flag array or a rotating window do for it: know which one they are,
// tell the peers, wait for them, leave. A pass puts these ops in; no user writes them.
#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {
namespace {

void require_launch_wide(const OpCall& call) {
  const Memory memory = require_any_view(call, 0).memory;
  if (memory != Memory::kFlag && memory != Memory::kWindow) {
    call.fail("takes a flag array or a rotating window");
  }
}

std::vector<Type> infer_generation(const OpCall& call) {
  require_launch_wide(call);
  return {Type::scalar(kIndex)};
}

std::vector<Type> infer_of_generation(const OpCall& call) {
  require_launch_wide(call);
  require_index(call, 1);
  return {};
}

/// The launches of a lane never overlap: that is what the state stands on. All instances are
/// resident at once, even where none waits, so that they are few enough to be counted.
Resources needs_launch_state(const Statement&) {
  Resources resources;
  resources.lane = resources.two_sided = resources.waits = true;
  return resources;
}

/// Of an array of objects.
std::int64_t num_elements(const Value* object) {
  std::int64_t count = 1;
  for (const std::int64_t extent : object->type.shape) count *= extent;
  return count;
}

std::string launch_of(const Statement& statement, CudaEmitter& emitter) {
  return emitter.companion(statement.operands.at(0), "launch");
}

std::string peers_of(const Statement& statement, CudaEmitter& emitter) {
  return emitter.companion(statement.operands.at(0), "peers");
}

void emit_generation_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("launch_state.cuh");
  const std::string launch = launch_of(statement, emitter);
  const std::string object = emitter.parameter(statement.operands.at(0));
  emitter.statement(fmt::format("const tw::LaunchNumber {}({});", launch, object));
  if (statement.flag("peers")) {
    emitter.include("peer_launches.cuh");
    emitter.statement(fmt::format("tw::PeerLaunches<{}, kThreads> {}({}, lane);",
                                  emitter.program().lsa_size, peers_of(statement, emitter),
                                  object));
  }
  emitter.define_here(statement.result(), fmt::format("{}.get()", launch), "generation");
}

void emit_announce_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.statement(fmt::format("{}.announce({});", peers_of(statement, emitter),
                                emitter.argument(statement.operands.at(1))));
}

void emit_await_done_cuda(const Statement& statement, CudaEmitter& emitter) {
  // Who has started the launch behind that one has ended that one.
  emitter.statement(fmt::format("{}.wait{}({} - {}, {});", peers_of(statement, emitter),
                                emitter.is_in_task() ? "_in<tw::TaskWarp>" : "",
                                emitter.argument(statement.operands.at(1)),
                                statement.integer("distance") - 1, statement.integer("site")));
}

void emit_leave_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* object = statement.operands.at(0);
  if (object->type.memory == Memory::kFlag) {
    emitter.include("flag.cuh");
    emitter.statement(fmt::format("tw::clear_flags<kThreads>({}.local, {}, {}, {});",
                                  emitter.parameter(object), emitter.program().world_size,
                                  num_elements(object),
                                  emitter.argument(statement.operands.at(1))));
  }
  emitter.statement(fmt::format("{}.leave();", launch_of(statement, emitter)));
}

void emit_cpu_generation(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t team_size = emitter.program().lsa_size;
  emitter.call_reference(statement, "tilewire_generation", {&team_size, 1});
}

void emit_cpu_announce(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t team_size = emitter.program().lsa_size;
  emitter.call_reference(statement, "tilewire_announce", {&team_size, 1});
}

void emit_cpu_await_done(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t constants[] = {emitter.program().lsa_size, statement.integer("distance"),
                                    statement.integer("site")};
  emitter.call_reference(statement, "tilewire_await_done", constants);
}

void emit_cpu_leave(const Statement& statement, CpuEmitter& emitter) {
  const Value* object = statement.operands.at(0);
  const bool is_flag = object->type.memory == Memory::kFlag;
  const std::int64_t constants[] = {
      emitter.program().lsa_size, is_flag ? num_elements(object) : 0,
      static_cast<std::int64_t>(device::flag_offset(emitter.program().world_size, 0))};
  emitter.call_reference(statement, "tilewire_leave", constants);
}

OpInfo launch_op(std::string_view name, std::string_view summary) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = op.max_operands = 2;
  op.effect = Effect::kHidden;
  op.infer = infer_of_generation;
  op.resources = needs_launch_state;
  op.stage = Stage::kLowered;
  return op;
}

OpInfo generation_op() {
  OpInfo op =
      launch_op("generation",
                "Which launch this is of those that take the flag array or rotating window, "
                "from 1 on.");
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"peers", AttributeSpec::Kind::kBool, false, "other ranks take part"}};
  op.infer = infer_generation;
  op.emit_cuda = emit_generation_cuda;
  op.emit_cpu = emit_cpu_generation;
  return op;
}

OpInfo announce_op() {
  OpInfo op = launch_op("announce",
                        "Tells all peers that this rank has started the launch, and so has ended "
                        "the ones before.");
  op.emit_cuda = emit_announce_cuda;
  op.emit_cpu = emit_cpu_announce;
  return op;
}

std::string describe_await(const Statement& statement, const Program&) {
  return fmt::format("{} (until all ranks have ended its launch {} before this one)",
                     statement.operands.at(0)->name, statement.integer("distance"));
}

OpInfo await_done_op() {
  OpInfo op = launch_op("await_done",
                        "Waits until every peer has ended the launch that was `distance` ago.");
  op.attributes = {{"distance", AttributeSpec::Kind::kInteger, true, "launches, 2 or more"},
                   {"site", AttributeSpec::Kind::kInteger, true, "its number in hang reports"}};
  op.effect = Effect::kSynchronises;
  op.meeting = {.tells = false, .waits = true, .learns = false};
  op.wait_site = describe_await;
  op.emit_cuda = emit_await_done_cuda;
  op.emit_cpu = emit_cpu_await_done;
  return op;
}

OpInfo leave_op() {
  OpInfo op = launch_op("leave",
                        "This instance leaves the launch. Of a flag array, it clears its share of "
                        "the words that the launch after the next one counts in.");
  op.emit_cuda = emit_leave_cuda;
  op.emit_cpu = emit_cpu_leave;
  return op;
}

}  // namespace

std::vector<OpInfo> generation_ops() {
  return {generation_op(), announce_op(), await_done_op(), leave_op()};
}

}  // namespace tilewire

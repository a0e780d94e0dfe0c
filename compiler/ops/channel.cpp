#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/channel.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/channel_access.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/network.h"

namespace tilewire {
namespace {

constexpr AttributeSpec kSite = {"site", AttributeSpec::Kind::kInteger, false,
                                 "its number in hang reports"};
constexpr AttributeSpec kMessage = {"message", AttributeSpec::Kind::kText, true,
                                    "the values that come, `bf16[2048], f32`"};
constexpr AttributeSpec kState = {"state", AttributeSpec::Kind::kInteger, false,
                                  "the `channel_open` that keeps the slot's count in registers"};

constexpr AttributeSpec kChecked = {"checked", AttributeSpec::Kind::kBool, false,
                                    "ends the launch where another instance uses the slot too"};

void require_values(const OpCall& call, std::size_t first) {
  if (call.operands.size() <= first) call.fail("takes one value or more");
  for (std::size_t i = first; i < call.operands.size(); ++i) {
    const Type& type = call.operands[i];
    if (!type.is_tile() && !type.is_scalar()) {
      call.fail(fmt::format("sends tiles and scalars, found {}", type.to_string()));
    }
  }
}

void require_slot(const OpCall& call) {
  const Type& channel = require_object(call, 0, Memory::kChannel);
  if (channel.rank() != 0) {
    call.fail(fmt::format("takes one slot, {} has {} dimensions left: index them",
                          channel.to_string(), channel.rank()));
  }
}

std::vector<Type> received(const OpCall& call) {
  const auto message = parse_message(text_attribute(call, "message"));
  if (!message || message->empty()) call.fail("the text of the message is none");
  return types_of(*message);
}

std::vector<Type> infer_send(const OpCall& call) {
  require_slot(call);
  require_values(call, 1);
  return {};
}

std::vector<Type> infer_recv(const OpCall& call) {
  require_slot(call);
  return received(call);
}

/// For each value those of all ranks.
std::vector<Type> exchanged(const OpCall& call, std::size_t first, std::int64_t world,
                            std::size_t end) {
  std::vector<Type> results;
  for (std::size_t i = first; i < end; ++i) {
    Type type = call.operands[i];
    type.layout = {};
    results.insert(results.end(), static_cast<std::size_t>(world), type);
  }
  return results;
}

std::vector<Type> infer_exchange(const OpCall& call) {
  const Type& channel = require_object(call, 0, Memory::kChannel);
  if (channel.rank() != 1 || channel.shape[0] == kDynamic) {
    call.fail(fmt::format(
        "takes a slot of every rank: `:` in the channel's first dimension and an index in each "
        "other, found {}",
        channel.to_string()));
  }
  require_values(call, 1);
  return exchanged(call, 1, channel.shape[0], call.operands.size());
}

std::size_t num_places(const OpCall& call) { return flag_attribute(call, "peer") ? 3 : 2; }
std::size_t end_of_values(const OpCall& call) {
  return call.operands.size() - (flag_attribute(call, "predicated") ? 1 : 0);
}

void check_lowered(const OpCall& call) {
  const std::size_t first = num_places(call);
  const std::size_t end = end_of_values(call);
  check_object_access(call, end > first ? end - first : 0);
}

std::vector<Type> infer_channel_send(const OpCall& call) {
  check_lowered(call);
  return {};
}

std::vector<Type> infer_channel_recv(const OpCall& call) {
  check_lowered(call);
  return received(call);
}

std::vector<Type> infer_channel_exchange(const OpCall& call) {
  check_lowered(call);
  const auto& shape = integers_attribute(call, "shape");
  if (shape.size() != 1) call.fail("a slice of one dimension: the ranks");
  return exchanged(call, num_places(call), shape[0], end_of_values(call));
}

std::vector<Type> infer_open(const OpCall& call) {
  require_object(call, 0, Memory::kChannel);
  for (std::size_t i = 1; i < call.operands.size(); ++i) require_index(call, i);
  return {};
}

std::vector<Type> infer_close(const OpCall&) { return {}; }

Resources needs_slot(const Statement& statement) {
  Resources resources;
  resources.lane = resources.waits = true;
  resources.network = statement.flag("network");
  resources.staging_bytes = staged_message_bytes(statement);
  return resources;
}

Resources needs_exchange(const Statement& statement) {
  Resources resources = needs_slot(statement);
  resources.two_sided = true;
  return resources;
}

/// `recv(ch)`.
std::string describe_wait(const Statement& statement, const Program&) {
  const Value* place = parameter_of(statement.operands.at(0));
  std::string_view op = statement.op->name;
  op.remove_prefix(op.starts_with("channel_") ? std::string_view("channel_").size() : 0);
  return fmt::format("{}({})", op, place->name);
}

/// constants: carrying, slots, depth, site, whether there is a predicate, number of values, whether
/// a rank is named, whether the network reaches some ranks.
template <const std::string_view& kName>
void emit_cpu_channel(const Statement& statement, CpuEmitter& emitter) {
  const ChannelAccess access = ChannelAccess::of(statement, emitter.program());
  const auto num_values = static_cast<std::int64_t>(access.type().message.size());
  const std::int64_t constants[] = {static_cast<std::int64_t>(access.type().carrying),
                                    access.num_slots,
                                    access.type().depth,
                                    statement.integer("site"),
                                    statement.flag("predicated") ? 1 : 0,
                                    num_values,
                                    access.place.rank != nullptr ? 1 : 0,
                                    statement.flag("network") ? 1 : 0};
  emitter.call_reference(statement, kName, constants);
}

constexpr std::string_view kSend = "tilewire_channel_send";
constexpr std::string_view kRecv = "tilewire_channel_recv";
constexpr std::string_view kExchange = "tilewire_channel_exchange";

OpInfo slot_op(std::string_view name, std::string_view summary,
               std::vector<Type> (*infer)(const OpCall&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.min_operands = 1;
  op.max_operands = -1;
  op.attributes = {kSite, kOverNetwork};
  // A channel orders nothing but its messages, which no other op sees.
  op.effect = Effect::kHidden;
  op.stage = Stage::kFrontend;
  op.infer = infer;
  op.wait_site = describe_wait;
  return op;
}

OpInfo lowered_op(std::string_view name, std::string_view summary,
                  std::vector<Type> (*infer)(const OpCall&)) {
  OpInfo op = slot_op(name, summary, infer);
  op.min_operands = 2;
  op.attributes = object_access_attributes();
  op.attributes.insert(op.attributes.end(), {kSite, kOverNetwork, kState, kChecked});
  op.stage = Stage::kLowered;
  return op;
}

std::vector<OpInfo> frontend_ops() {
  OpInfo send = slot_op(
      "send", "Puts a message into a slot, as soon as one of its buffers is free.", infer_send);
  send.lowered = [](Memory) -> std::string_view { return "channel_send"; };
  send.meeting = {.tells = true, .waits = false};
  OpInfo recv = slot_op("recv", "The next message of a slot, as soon as it is there.", infer_recv);
  recv.attributes.push_back(kMessage);
  recv.lowered = [](Memory) -> std::string_view { return "channel_recv"; };
  recv.meeting = {.tells = false, .waits = true};
  OpInfo exchange = slot_op(
      "exchange", "Sends a message to all ranks; the messages of all of them.", infer_exchange);
  exchange.lowered = [](Memory) -> std::string_view { return "channel_exchange"; };
  return {send, recv, exchange};
}

std::vector<OpInfo> lowered_ops() {
  OpInfo send = lowered_op("channel_send", "A message to a slot by number.", infer_channel_send);
  send.resources = needs_slot;
  send.emit_cpu = emit_cpu_channel<kSend>;
  send.emit_cuda = emit_channel_send_cuda;
  OpInfo recv =
      lowered_op("channel_recv", "The next message of a slot by number.", infer_channel_recv);
  recv.attributes.push_back(kMessage);
  recv.resources = needs_slot;
  recv.emit_cpu = emit_cpu_channel<kRecv>;
  recv.emit_cuda = emit_channel_recv_cuda;
  OpInfo exchange =
      lowered_op("channel_exchange", "An exchange in a slot by number.", infer_channel_exchange);
  exchange.attributes.push_back(
      {"first", AttributeSpec::Kind::kBool, false, "nothing of the launch uses the slot before"});
  exchange.resources = needs_exchange;
  exchange.emit_cpu = emit_cpu_channel<kExchange>;
  exchange.announces_launch = true;
  exchange.emit_cuda = emit_channel_exchange_cuda;
  return {send, recv, exchange};
}

std::vector<OpInfo> state_ops() {
  OpInfo open;
  open.name = "channel_open";
  open.summary = "Reads a slot's count, which the ops with this state keep in registers.";
  open.min_operands = 2;
  open.max_operands = 3;
  open.attributes = {{"state", AttributeSpec::Kind::kInteger, true, "its number"}};
  open.effect = Effect::kHidden;
  open.stage = Stage::kLowered;
  open.infer = infer_open;
  open.emit_cuda = emit_channel_open_cuda;
  open.emit_cpu = [](const Statement&, CpuEmitter&) {};
  OpInfo close = open;
  close.name = "channel_close";
  close.summary = "Stores the counts of slots that were kept in registers, for later launches.";
  close.min_operands = close.max_operands = 0;
  close.attributes = {};
  close.infer = infer_close;
  close.emit_cuda = emit_channel_close_cuda;
  return {open, close};
}

}  // namespace

std::vector<OpInfo> channel_ops() {
  std::vector<OpInfo> ops = frontend_ops();
  for (const auto& more : {lowered_ops(), state_ops()}) {
    ops.insert(ops.end(), more.begin(), more.end());
  }
  return ops;
}

}  // namespace tilewire

#include "compiler/codegen/cuda/channel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "compiler/codegen/cuda/report.h"
#include "compiler/ir/names.h"
#include "compiler/ops/channel_access.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::string_view carrying_name(Carrying carrying) {
  switch (carrying) {
    case Carrying::kTagged:
      return "kTagged";
    case Carrying::kExchange:
      return "kExchange";
    case Carrying::kReserved:
      return "kReserved";
  }
  throw InternalError("a channel that is carried in no way");
}

/// The name of the channel's `tw::Channel`.
std::string channel_type(const ChannelAccess& access, bool network, CudaEmitter& emitter) {
  const ChannelType& type = access.type();
  std::string fields;
  for (const MessageField& field : type.message) {
    std::int64_t elements = 1;
    for (const std::int64_t extent : field.shape) elements *= extent;
    fields += fmt::format(", tw::Field<{}, {}, {}>", device_type(field.dtype),
                          emitter.size(elements), emitter.size(row_of(field.shape)));
  }
  return emitter.type_alias(
      fmt::format("Channel_{}", access.parameter->name),
      fmt::format("tw::{}Channel<tw::Carrying::{}, {}, {}, {}{}>", network ? "Network" : "",
                  carrying_name(type.carrying), emitter.program().world_size, access.num_slots,
                  type.depth, fields));
}

/// The object that a statement works with: `tw::ExchangeSlot<Channel_ch, TileBF16_2048>`.
std::string object_type(const Statement& statement, CudaEmitter& emitter) {
  const ChannelAccess access = ChannelAccess::of(statement, emitter.program());
  const bool network = statement.flag("network");
  std::string channel = channel_type(access, network, emitter);
  const std::string_view kind = network ? "Network" : "";
  if (network) channel += fmt::format(", {}", emitter.program().lsa_size);
  if (statement.is("channel_send")) return fmt::format("tw::{}Sender<{}>", kind, channel);
  if (statement.is("channel_recv")) return fmt::format("tw::{}Receiver<{}>", kind, channel);
  std::vector<std::string> values;
  for (const Value* value : access.place.values) values.push_back(emitter.type(value->type));
  return fmt::format("tw::{}ExchangeSlot<{}, {}>", kind, channel, fmt::join(values, ", "));
}

std::string own_rank(const CudaEmitter& emitter) {
  return emitter.program().world_size == 1 ? "0" : "lane.rank";
}

/// Declares the object under a name.
void declare(const Statement& user, const std::string& name, CudaEmitter& emitter) {
  const ChannelAccess access = ChannelAccess::of(user, emitter.program());
  const bool network = user.flag("network");
  emitter.include(fmt::format("{}{}", network ? "network_" : "",
                              user.is("channel_exchange") ? "exchange.cuh" : "fifo.cuh"));
  std::string slot = emitter.argument(access.place.slot);
  // An instance that never comes to the statement may make the object all the same.
  if (access.place.predicate != nullptr) {
    slot = fmt::format("{} ? {} : 0", emitter.operand(access.place.predicate, Binding::kChoose),
                       emitter.operand(access.place.slot, Binding::kChoose));
  }
  std::string peer;
  if (user.is("channel_send")) {
    const bool is_at_peer = access.place.rank != nullptr && emitter.program().world_size > 1;
    peer = (is_at_peer ? emitter.argument(access.place.rank) : own_rank(emitter)) + ", ";
  }
  emitter.statement(fmt::format(
      "{} {}({}, {}, {}, {}{});", object_type(user, emitter), name, network ? "network" : "lane",
      emitter.parameter(access.place.channel), own_rank(emitter), peer, slot));
}

std::string hint(const Statement& user, const CudaEmitter& emitter) {
  const std::string& name = ChannelAccess::of(user, emitter.program()).parameter->name;
  if (user.is("channel_send")) return "to_" + name;
  return user.is("channel_recv") ? "from_" + name : name + "_slot";
}

std::string state_key(const Statement& statement) {
  return fmt::format("channel state {}", statement.integer("state"));
}

/// The statements that work with a state; the first one says what its object is.
const Statement& first_user(const Statement& open, const CudaEmitter& emitter) {
  const Statement* found = nullptr;
  for_each_statement(emitter.program().body, [&](const Statement& statement) {
    const bool is_user = &statement != &open && !statement.is("channel_open") &&
                         statement.has("state") &&
                         statement.integer("state") == open.integer("state");
    if (is_user && found == nullptr) found = &statement;
  });
  if (found == nullptr) throw InternalError("a slot is kept that nobody uses");
  return *found;
}

/// What `close` is given: under TILEWIRE_CHECK, that no other instance used this end of the slot.
std::string check_of(const Statement& user, CudaEmitter& emitter) {
  if (!user.flag("checked")) return {};
  const std::string_view what = user.is("channel_send")   ? "send to"
                                : user.is("channel_recv") ? "receive from"
                                                          : "exchange in";
  return assertion(fmt::format("two program instances {} one slot of `{}`", what,
                               ChannelAccess::of(user, emitter.program()).parameter->name),
                   user, emitter);
}

/// The object that a statement uses: a kept one, or its own.
class Slot {
 public:
  Slot(const Statement& statement, CudaEmitter& emitter)
      : statement_(statement), emitter_(emitter), is_kept_(statement.has("state")) {
    const ObjectAccess access = ObjectAccess::of(statement);
    if (access.predicate != nullptr) {
      emitter.statement(fmt::format("tw::require_slot({});", emitter.argument(access.predicate)));
    }
    if (is_kept_) {
      name_ = emitter.shared_name(state_key(statement), "");
      return;
    }
    name_ = emitter.unique_name(hint(statement, emitter));
    if (!statement.flag("first")) emitter.meet();
    declare(statement, name_, emitter);
  }

  const std::string& name() const { return name_; }
  bool is_kept() const { return is_kept_; }
  void call(const std::string& text) const {
    emitter_.statement(fmt::format("{}.{};", name_, text));
  }
  /// Hands the count on, unless the end of the kernel does.
  void close(bool have_met) const {
    if (is_kept_) return;
    if (!have_met) emitter_.meet();
    call(fmt::format("close({})", check_of(statement_, emitter_)));
  }

 private:
  const Statement& statement_;
  CudaEmitter& emitter_;
  bool is_kept_;
  std::string name_;
};

/// A value's variable: an expression gets one.
std::string variable(const Value* value, CudaEmitter& emitter) {
  std::string text = emitter.argument(value);
  if (value->type.is_scalar() || text == to_identifier(text)) return text;
  const std::string name = emitter.unique_name(value->name.empty() ? "sent" : value->name);
  emitter.statement(fmt::format("const {} {} = {};", emitter.type(value->type), name, text));
  return name;
}

}  // namespace

void emit_channel_open_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Statement& user = first_user(statement, emitter);
  declare(user, emitter.shared_name(state_key(statement), hint(user, emitter)), emitter);
}

void emit_channel_close_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.meet();
  for_each_statement(emitter.program().body, [&](const Statement& statement) {
    if (!statement.is("channel_open")) return;
    const std::string name = emitter.shared_name(state_key(statement), "");
    const std::string check = check_of(first_user(statement, emitter), emitter);
    emitter.statement(fmt::format("{}.close({});", name, check));
  });
}

void emit_channel_send_cuda(const Statement& statement, CudaEmitter& emitter) {
  const ChannelAccess access = ChannelAccess::of(statement, emitter.program());
  std::vector<std::string> values;
  for (const Value* value : access.place.values) values.push_back(variable(value, emitter));
  const Slot slot(statement, emitter);
  slot.call(fmt::format("begin({})", statement.integer("site")));
  for (std::size_t i = 0; i < values.size(); ++i) {
    slot.call(
        fmt::format("send<{}, {}>({})", i, emitter.type(access.place.values[i]->type), values[i]));
  }
  slot.call("advance()");
  if (statement.flag("network")) {
    emitter.open(fmt::format("if ({}.is_far())", slot.name()));
    emitter.meet();
    slot.call("deliver()");
    emitter.close();
  }
  slot.close(false);
}

void emit_channel_recv_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Slot slot(statement, emitter);
  if (statement.flag("network")) slot.call(fmt::format("begin({})", statement.integer("site")));
  for (std::size_t i = 0; i < statement.results.size(); ++i) {
    const Value* result = statement.results[i];
    emitter.define_here(result,
                        fmt::format("{}.receive<{}, {}>({})", slot.name(), i,
                                    emitter.type(result->type), statement.integer("site")),
                        "message");
  }
  emitter.meet();
  slot.call(fmt::format("acknowledge({})", statement.integer("site")));
  slot.close(true);
}

void emit_channel_exchange_cuda(const Statement& statement, CudaEmitter& emitter) {
  const ChannelAccess access = ChannelAccess::of(statement, emitter.program());
  const std::vector<Value*>& values = access.place.values;
  std::vector<std::string> names;
  for (const Value* value : values) names.push_back(variable(value, emitter));
  const Slot slot(statement, emitter);
  if (slot.is_kept()) {
    slot.call("begin()");
  } else if (!statement.flag("first")) {
    slot.call("again()");
  }
  const bool network = statement.flag("network");
  if (network) slot.call("stage()");
  std::vector<std::string> types;
  for (std::size_t i = 0; i < values.size(); ++i) {
    types.push_back(emitter.type(values[i]->type));
    slot.call(fmt::format("send<{}, {}>({})", i, types[i], names[i]));
  }
  if (network) {
    emitter.meet();
    slot.call("deliver()");
  }
  emitter.announce_launch();
  if (network) {
    slot.call(fmt::format("await({})", statement.integer("site")));
    emitter.meet();
  }
  const std::size_t world = statement.results.size() / values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string parts = emitter.unique_name(access.parameter->name + "_parts");
    emitter.statement(fmt::format("const tw::Parts<{}, {}> {} = {}.receive<{}, {}>({}, {});",
                                  types[i], world, parts, slot.name(), i, types[i], names[i],
                                  statement.integer("site")));
    for (std::size_t rank = 0; rank < world; ++rank) {
      emitter.define(statement.results[i * world + rank], fmt::format("{}.of[{}]", parts, rank));
    }
  }
  slot.call("advance()");
  slot.close(false);
}

}  // namespace tilewire

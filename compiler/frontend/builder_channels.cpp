#include <fmt/format.h>

#include <set>

#include "compiler/frontend/builder.h"
#include "compiler/ops/channel_access.h"
#include "compiler/ops/memory.h"

namespace tilewire {
namespace {

/// Whether a value is computed from the program id.
bool depends_on_program(const Value* value, std::set<const Value*>& seen) {
  if (!seen.insert(value).second || value->definition == nullptr) return false;
  if (value->definition->is("program_id")) return true;
  for (const Value* operand : value->definition->operands) {
    if (depends_on_program(operand, seen)) return true;
  }
  return false;
}

bool is_zero(const Value* index) {
  return index->definition != nullptr && index->definition->is("constant") &&
         index->definition->integer("value") == 0;
}

/// Whether a slice of one dimension goes through the whole first one of its array, from its start.
bool is_of_all_ranks(const Value* slot) {
  std::size_t kept = 0;  // the dimension of the view that is left of it
  while (slot->definition != nullptr) {
    const Statement& statement = *slot->definition;
    slot = statement.operands.at(0);
    if (statement.is("at")) continue;
    if (!statement.is("slice")) return false;
    const std::vector<SliceIndex> indices = slice_indices(statement);
    std::size_t place = 0;
    for (std::size_t left = kept + 1; place < indices.size(); ++place) {
      if (indices[place].kind != SliceIndex::Kind::kAt && --left == 0) break;
    }
    const SliceIndex& index = indices.at(place);
    const bool is_whole = index.kind == SliceIndex::Kind::kAll ||
                          (index.kind == SliceIndex::Kind::kDs &&
                           index.size == slot->type.shape.at(place) && is_zero(index.first));
    if (!is_whole) return false;
    kept = place;
  }
  return kept == 0;
}

}  // namespace

const Parameter& Builder::channel_of(std::string_view op, const Value* slot) const {
  if (!slot->type.is_view() || slot->type.memory != Memory::kChannel) {
    fail(fmt::format("{}: takes a slot of a channel, got {}", op, slot->type.to_string()));
  }
  const Value* base = parameter_of(slot);
  for (const Parameter& parameter : program_.parameters) {
    if (parameter.value == base) return parameter;
  }
  fail(fmt::format("{}: {} is of no channel of this program", op, slot->type.to_string()));
}

const std::string& Builder::channel_name(const Value* slot) const {
  return channel_of("channel", slot).name;
}

/// Instances that share out their work draw it in any order: what one of them does in which slot
/// must not follow from who it is.
void Builder::check_slot(std::string_view op, const Value* slot) const {
  bool is_dynamic = false;
  for (const Open& open : open_) is_dynamic |= open.counter.has_value();
  std::set<const Value*> seen;
  if (is_dynamic && depends_on_program(slot, seen)) {
    fail(
        fmt::format("{}: under schedule=\"dynamic\" nobody knows which program instance does what, "
                    "so no slot can go by its program id: index slots by the work",
                    op));
  }
}

Values Builder::message_of(std::string_view op, const Parameter& channel,
                           const std::vector<Operand>& values) {
  const std::vector<Type> types = types_of(channel.channel.message);
  if (values.size() != types.size()) {
    fail(fmt::format("{}: a message of `{}` has {} values ({}), got {}", op, channel.name,
                     types.size(), channel.channel.message_text(), values.size()));
  }
  Values message;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const auto* value = std::get_if<Value*>(&values[i]);
    if (value != nullptr && !(*value)->type.is_view() && (*value)->type.shape != types[i].shape) {
      fail(fmt::format("{}: `{}` carries {}, got {}", op, channel.name,
                       channel.channel.message_text(), (*value)->type.to_string()));
    }
    message.push_back(fit(values[i], types[i], fmt::format("{}: the message", op)));
  }
  return message;
}

void Builder::send(Value* slot, const std::vector<Operand>& values) {
  const Parameter& channel = channel_of("send", slot);
  if (channel.channel.carrying != Carrying::kTagged) {
    fail(fmt::format("send: `{}` was made with exchange=True and takes tw.exchange alone",
                     channel.name));
  }
  check_slot("send", slot);
  Values operands = message_of("send", channel, values);
  operands.insert(operands.begin(), slot);
  emit("send", std::move(operands));
}

Values Builder::recv(Value* slot) {
  const Parameter& channel = channel_of("recv", slot);
  if (channel.channel.carrying != Carrying::kTagged) {
    fail(fmt::format("recv: `{}` was made with exchange=True and takes tw.exchange alone",
                     channel.name));
  }
  check_slot("recv", slot);
  return emit("recv", {slot}, {{"message", channel.channel.message_text()}})->results;
}

Values Builder::exchange(Value* slot, const std::vector<Operand>& values) {
  const Parameter& channel = channel_of("exchange", slot);
  if (channel.channel.carrying == Carrying::kTagged) {
    fail(fmt::format("exchange: `{}` was made for tw.send and tw.recv; make it with exchange=True",
                     channel.name));
  }
  if (channel.shape.at(0).size != world_size()) {
    fail(fmt::format("exchange: the first dimension of `{}` is {}, it must be the {} ranks",
                     channel.name, channel.shape[0].size, world_size()));
  }
  if (slot->type.rank() == 1 && !is_of_all_ranks(slot)) {
    fail(
        fmt::format("exchange: takes a slot of every rank: `:` in the first dimension of `{}` and "
                    "an index in each other",
                    channel.name));
  }
  check_slot("exchange", slot);
  Values operands = message_of("exchange", channel, values);
  operands.insert(operands.begin(), slot);
  const std::string name = channel.name;
  const Values parts = emit("exchange", std::move(operands))->results;
  const auto world = static_cast<std::size_t>(world_size());
  Values stacks;
  for (std::size_t first = 0; first < parts.size(); first += world) {
    Values of_value(parts.begin() + static_cast<std::ptrdiff_t>(first),
                    parts.begin() + static_cast<std::ptrdiff_t>(first + world));
    for (std::size_t rank = 0; rank < world; ++rank) {
      this->name(of_value[rank], fmt::format("{}_{}", name, rank));
    }
    stacks.push_back(stack(of_value));
  }
  return stacks;
}

}  // namespace tilewire

#pragma once

#include <string>

#include "compiler/ir/program.h"
#include "compiler/ops/object_access.h"

namespace tilewire {

/// What a lowered op on a channel works on: which channel, how many slots, and the values.
struct ChannelAccess {
  ObjectAccess place;
  const Parameter* parameter = nullptr;
  std::int64_t num_slots = 1;  ///< of one rank; of exchanges: of the dimensions behind the world's

  static ChannelAccess of(const Statement& statement, const Program& program);
  const ChannelType& type() const { return parameter->channel; }
};

/// What the values of a message are: tiles and scalars, in its order.
std::vector<Type> types_of(const std::vector<MessageField>& message);

/// Why these values are no message of the channel; empty where they are.
std::string mismatch(const ChannelType& channel, const std::vector<Type>& values);

}  // namespace tilewire

#include "compiler/ops/channel_access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/support/error.h"

namespace tilewire {

ChannelAccess ChannelAccess::of(const Statement& statement, const Program& program) {
  ChannelAccess access;
  access.place = ObjectAccess::of(statement);
  for (const Parameter& parameter : program.parameters) {
    if (parameter.value == access.place.channel) access.parameter = &parameter;
  }
  if (access.parameter == nullptr) throw InternalError("a channel that is no parameter");
  const bool is_exchange = access.type().carrying != Carrying::kTagged;
  for (std::size_t i = is_exchange ? 1 : 0; i < access.parameter->shape.size(); ++i) {
    access.num_slots *= access.parameter->shape[i].size;
  }
  return access;
}

std::vector<Type> types_of(const std::vector<MessageField>& message) {
  std::vector<Type> types;
  for (const MessageField& field : message) {
    types.push_back(field.shape.empty() ? Type::scalar(field.dtype)
                                        : Type::tile(field.dtype, field.shape));
  }
  return types;
}

std::string mismatch(const ChannelType& channel, const std::vector<Type>& values) {
  const std::vector<Type> wanted = types_of(channel.message);
  bool is_equal = wanted.size() == values.size();
  for (std::size_t i = 0; is_equal && i < wanted.size(); ++i) {
    is_equal = wanted[i].kind == values[i].kind && wanted[i].shape == values[i].shape &&
               wanted[i].dtype == values[i].dtype;
  }
  if (is_equal) return {};
  std::vector<std::string> found;
  for (const Type& value : values) found.push_back(value.to_string());
  return fmt::format("carries {}, not {}", channel.message_text(), fmt::join(found, ", "));
}

}  // namespace tilewire

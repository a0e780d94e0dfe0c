#include <fmt/format.h>

#include <utility>

#include "compiler/frontend/builder.h"

namespace tilewire {

Value* Builder::object(Parameter::Kind kind, std::string name, std::vector<Dimension> shape) {
  Value* value = parameter(kind, std::move(name), object_dtype(memory_of(kind)), std::move(shape));
  const Parameter& made = program_.parameters.back();
  for (const Dimension& dimension : made.shape) {
    if (dimension.size > 0) continue;
    fail(fmt::format(
        "extent '{}' of the {} '{}' must be known when the program is made, and above 0",
        dimension.size == kDynamic ? dimension.name : std::to_string(dimension.size), name_of(kind),
        made.name));
  }
  return value;
}

Value* Builder::semaphore(std::string name, std::vector<Dimension> shape) {
  return object(Parameter::Kind::kSemaphore, std::move(name), std::move(shape));
}

Value* Builder::flag(std::string name, std::vector<Dimension> shape) {
  return object(Parameter::Kind::kFlag, std::move(name), std::move(shape));
}

Value* Builder::channel(std::string name, std::vector<Dimension> shape, ChannelType type) {
  const std::string refusal = refusal_of(type);
  if (!refusal.empty()) fail(fmt::format("channel '{}': {}", name, refusal));
  Value* value = object(Parameter::Kind::kChannel, std::move(name), std::move(shape));
  program_.parameters.back().channel = std::move(type);
  return value;
}

}  // namespace tilewire

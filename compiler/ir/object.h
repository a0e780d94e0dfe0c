#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/type.h"
#include "templates/tilewire/object_layout.cuh"

namespace tilewire {

using device::Carrying;

/// Copies of a rotating window at most.
inline constexpr std::int64_t kMaxRotation = 1024;

/// One value of a channel's message: a scalar where the shape is empty, else a tile.
struct MessageField {
  DType dtype = DType::kF32;
  std::vector<std::int64_t> shape;
  std::int64_t num_bytes() const;
  bool operator==(const MessageField&) const = default;
};

/// The last extent that isn't 1: `row` of `device::is_packed`.
std::int64_t row_of(const std::vector<std::int64_t>& shape);

/// What a channel carries, fixed when it is made. In IR text: `{message = "bf16[2048], f32",
/// depth = 2, carrying = "tagged"}`.
struct ChannelType {
  std::vector<MessageField> message;
  std::int64_t depth = 1;  ///< messages that may be unread in a slot
  Carrying carrying = Carrying::kTagged;
  bool operator==(const ChannelType&) const = default;

  /// `bf16[2048], f32`.
  std::string message_text() const;
  /// How it lies in the memory of each of `world_size` ranks. `num_elements`: of the array.
  device::ChannelLayout layout(std::int64_t num_elements, int world_size,
                               bool network = false) const;
};

/// The fields that `message_text` gave; nothing where the text is no message.
std::optional<std::vector<MessageField>> parse_message(std::string_view text);
/// Why no channel carries this; empty where one can.
std::string refusal_of(const ChannelType& type);

/// `tagged`, `exchange`, `reserved`.
std::string_view name_of(Carrying carrying);
std::optional<Carrying> carrying_from_name(std::string_view name);

}  // namespace tilewire

#include "compiler/ir/object.h"

#include <fmt/format.h>

#include <charconv>

namespace tilewire {
namespace {

/// What a tile may hold.
constexpr std::int64_t kMaxFieldElements = std::int64_t{1} << 20;
/// So that no product of sizes overflows.
constexpr std::int64_t kMaxDepth = std::int64_t{1} << 20;

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> parse_extent(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return {};
  return value;
}

std::optional<MessageField> parse_field(std::string_view text) {
  text = trimmed(text);
  MessageField field;
  const std::size_t bracket = text.find('[');
  const std::optional<DType> dtype = dtype_from_name(trimmed(text.substr(0, bracket)));
  if (!dtype) return {};
  field.dtype = *dtype;
  if (bracket == std::string_view::npos) return field;
  if (!text.ends_with(']')) return {};
  std::string_view extents = text.substr(bracket + 1, text.size() - bracket - 2);
  while (true) {
    const std::size_t comma = extents.find(',');
    const std::optional<std::int64_t> extent = parse_extent(extents.substr(0, comma));
    if (!extent) return {};
    field.shape.push_back(*extent);
    if (comma == std::string_view::npos) return field;
    extents.remove_prefix(comma + 1);
  }
}

}  // namespace

std::int64_t row_of(const std::vector<std::int64_t>& shape) {
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) return shape[i];
  }
  return 1;
}

std::int64_t MessageField::num_bytes() const {
  std::int64_t bytes = tilewire::num_bytes(dtype);
  for (const std::int64_t extent : shape) bytes *= extent;
  return bytes;
}

std::string ChannelType::message_text() const {
  std::string text;
  for (const MessageField& field : message) {
    if (!text.empty()) text += ", ";
    text += name_of(field.dtype);
    if (!field.shape.empty()) text += shape_to_string(field.shape);
  }
  return text;
}

device::ChannelLayout ChannelType::layout(std::int64_t num_elements, int world_size,
                                          bool network) const {
  const bool is_tagged = carrying == Carrying::kTagged;
  std::int64_t message_bytes = is_tagged ? device::kSenderBytes : 0;
  for (const MessageField& field : message) {
    const int bytes = tilewire::num_bytes(field.dtype);
    const bool is_packed = device::is_packed(row_of(field.shape), bytes);
    const std::int64_t words = device::field_words(field.num_bytes() / bytes, bytes, is_packed);
    message_bytes += device::field_bytes(words, carrying);
  }
  return {carrying,
          world_size,
          is_tagged ? num_elements : num_elements / world_size,
          static_cast<int>(depth),
          device::up_to_line(message_bytes),
          network};
}

std::optional<std::vector<MessageField>> parse_message(std::string_view text) {
  std::vector<MessageField> fields;
  std::size_t depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']') --depth;
    if (i < text.size() && (text[i] != ',' || depth != 0)) continue;
    const std::optional<MessageField> field = parse_field(text.substr(start, i - start));
    if (!field) return {};
    fields.push_back(*field);
    start = i + 1;
  }
  return fields;
}

std::string refusal_of(const ChannelType& type) {
  if (type.message.empty()) return "a message has at least one value";
  for (const MessageField& field : type.message) {
    if (field.shape.size() > 3) return "a message's tiles have rank 1 to 3";
    std::int64_t num_elements = 1;
    for (const std::int64_t extent : field.shape) {
      if (extent < 1 || extent > kMaxFieldElements) return "a tile's extents are 1 to 1048576";
      num_elements *= extent;
      if (num_elements > kMaxFieldElements) return "a tile has at most 1048576 elements";
    }
    const bool has_signed_zero = is_float(field.dtype);
    if (type.carrying == Carrying::kReserved && !has_signed_zero) {
      return fmt::format("signed_zero=False is for floats, the message has {}",
                         name_of(field.dtype));
    }
  }
  if (type.depth < 1 || type.depth > kMaxDepth) return "the depth is 1 to 1048576 messages";
  if (type.carrying != Carrying::kTagged && type.depth != 1) {
    return "a depth is for send and recv; exchange has buffers of its own";
  }
  return {};
}

std::string_view name_of(Carrying carrying) {
  switch (carrying) {
    case Carrying::kTagged:
      return "tagged";
    case Carrying::kExchange:
      return "exchange";
    case Carrying::kReserved:
      return "reserved";
  }
  return {};
}

std::optional<Carrying> carrying_from_name(std::string_view name) {
  for (const Carrying each : {Carrying::kTagged, Carrying::kExchange, Carrying::kReserved}) {
    if (name == name_of(each)) return each;
  }
  return {};
}

}  // namespace tilewire

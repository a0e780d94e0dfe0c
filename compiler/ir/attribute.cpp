#include "compiler/ir/attribute.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewire {
namespace {

/// The shortest text that reads back as the same bits and can't be taken for an integer.
std::string float_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".ein") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      result += '\\';
      result += character;
    } else if (character == '\n') {
      result += "\\n";
    } else if (static_cast<unsigned char>(character) < 0x20) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(character));
    } else {
      result += character;
    }
  }
  return result + "\"";
}

struct AttributeText {
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return float_text(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(DType value) const { return std::string(name_of(value)); }
  std::string operator()(const std::vector<std::int64_t>& value) const {
    return fmt::format("[{}]", fmt::join(value, ", "));
  }
};

}  // namespace

std::string to_string(const Attribute& attribute) { return std::visit(AttributeText(), attribute); }

}  // namespace tilewire

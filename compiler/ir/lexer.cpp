#include "compiler/ir/lexer.h"

#include <fmt/format.h>

#include <charconv>

#include "compiler/ir/names.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

bool is_digit(char character) { return character >= '0' && character <= '9'; }

bool is_space(char character) {
  return character == ' ' || character == '\n' || character == '\t' || character == '\r';
}

template <typename Number>
bool read_whole(const std::string& text, Number& value, int base = 10) {
  const char* end = text.data() + text.size();
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<Number>) {
    result = std::from_chars(text.data(), end, value);
  } else {
    result = std::from_chars(text.data(), end, value, base);
  }
  return result.ec == std::errc() && result.ptr == end;
}

}  // namespace

std::string Token::describe() const {
  switch (kind) {
    case Kind::kValue:
      return fmt::format("`%{}`", text);
    case Kind::kString:
      return fmt::format("the string \"{}\"", text);
    case Kind::kEnd:
      return "the end of the text";
    case Kind::kIdentifier:
    case Kind::kInteger:
    case Kind::kFloat:
    case Kind::kPunctuation:
      return fmt::format("`{}`", text);
  }
  return text;
}

void Lexer::fail(const Token& at, const std::string& message) {
  throw UserError(message, SourceLocation{"<ir text>", at.line, at.column});
}

void Lexer::advance() {
  if (text_[position_] == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  ++position_;
}

void Lexer::skip_space() {
  while (position_ < text_.size() && (is_space(peek()) || peek() == '#')) {
    if (peek() == '#') {
      while (position_ < text_.size() && peek() != '\n') advance();
    } else {
      advance();
    }
  }
}

std::string Lexer::identifier() {
  std::string name;
  while (continues_identifier(peek())) {
    name += peek();
    advance();
  }
  return name;
}

Token Lexer::next() {
  skip_space();
  Token token;
  token.line = line_;
  token.column = column_;
  if (position_ == text_.size()) return token;
  if (starts_identifier(peek())) {
    token.kind = Token::Kind::kIdentifier;
    token.text = identifier();
  } else if (peek() == '%') {
    advance();
    token.kind = Token::Kind::kValue;
    token.text = identifier();
    if (!is_identifier(token.text)) fail(token, "`%` must be followed by a name");
  } else if (is_digit(peek()) || (peek() == '-' && is_digit(peek(1)))) {
    read_number(token);
  } else if (peek() == '"') {
    read_string(token);
  } else if (std::string_view("@{}()[]<>=:,?-").find(peek()) != std::string_view::npos) {
    token.kind = Token::Kind::kPunctuation;
    token.text = peek();
    advance();
  } else {
    fail(token, fmt::format("unexpected character `{}`", peek()));
  }
  return token;
}

void Lexer::read_number(Token& token) {
  bool is_float = false;
  while (is_digit(peek()) || peek() == '.' || peek() == '-' || peek() == '+' || peek() == 'e') {
    const bool is_sign = peek() == '-' || peek() == '+';
    if (is_sign && !token.text.empty() && token.text.back() != 'e') break;
    is_float |= peek() == '.' || peek() == 'e';
    token.text += peek();
    advance();
  }
  token.kind = is_float ? Token::Kind::kFloat : Token::Kind::kInteger;
  const bool fits =
      is_float ? read_whole(token.text, token.number) : read_whole(token.text, token.integer);
  if (!fits) fail(token, fmt::format("`{}` is no number that fits in 64 bits", token.text));
}

void Lexer::read_string(Token& token) {
  token.kind = Token::Kind::kString;
  advance();
  while (peek() != '"') {
    if (position_ == text_.size() || peek() == '\n') fail(token, "this string has no end");
    if (peek() != '\\') {
      token.text += peek();
      advance();
      continue;
    }
    advance();
    const char escaped = peek();
    if (position_ < text_.size()) advance();
    if (escaped == 'n') {
      token.text += '\n';
    } else if (escaped == '"' || escaped == '\\') {
      token.text += escaped;
    } else {
      unsigned char code = 0;
      const std::string digits{peek(), peek(1)};
      if (escaped != 'x' || !read_whole(digits, code, 16)) {
        fail(token, "the escapes of a string are \\n, \\\", \\\\ and \\xNN");
      }
      token.text += static_cast<char>(code);
      advance();
      advance();
    }
  }
  advance();
}

}  // namespace tilewire

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tilewire {

/// A piece of IR text.
struct Token {
  enum class Kind : std::uint8_t {
    kIdentifier,   ///< `for`, `bf16`, `T`
    kValue,        ///< `%row`; `text` without the sigil
    kInteger,      ///< `-3`
    kFloat,        ///< `0.5`, `1e-06`
    kString,       ///< `"text"`; `text` without quotes and escapes
    kPunctuation,  ///< one character
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
  std::int64_t integer = 0;
  double number = 0.0;
  int line = 0;
  int column = 0;

  bool is(char punctuation) const {
    return kind == Kind::kPunctuation && text.front() == punctuation;
  }
  bool is(std::string_view keyword) const { return kind == Kind::kIdentifier && text == keyword; }
  /// As a message names it.
  std::string describe() const;
};

/// Cuts IR text into tokens. Spaces, line ends and comments (`#` to the end of the line) separate.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}
  /// UserError with line and column where nothing fits.
  Token next();

  [[noreturn]] static void fail(const Token& at, const std::string& message);

 private:
  char peek(std::size_t ahead = 0) const {
    return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
  }
  void advance();
  void skip_space();
  std::string identifier();
  void read_number(Token& token);
  void read_string(Token& token);

  std::string_view text_;
  std::size_t position_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace tilewire

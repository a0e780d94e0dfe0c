#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/attribute.h"
#include "compiler/ir/lexer.h"
#include "compiler/ir/type.h"

namespace tilewire {

/// Tokens of IR text with two of lookahead, and what stands in the grammar's leaves: types and
/// attributes. Everything throws UserError at the token that doesn't fit.
class TokenStream {
 public:
  explicit TokenStream(std::string_view text);

  const Token& token() const { return token_; }
  const Token& ahead() const { return ahead_; }

  /// `expected …, found …` at the present token.
  [[noreturn]] void fail(const std::string& expected) const;
  [[noreturn]] static void fail_at(const Token& at, const std::string& message);

  Token take();
  Token take(Token::Kind kind, std::string_view what);
  bool accept(char punctuation);
  void expect(char punctuation);
  bool accept(std::string_view word);
  void keyword(std::string_view word);
  std::string identifier(std::string_view what);
  std::int64_t integer();
  int small_integer();  ///< 0 or more, below 2^31

  DType dtype();
  Type type();
  Layout layout();                    ///< `vector 8`, `vector 8, rows 4`
  std::vector<std::int64_t> shape();  ///< `[2, ?]`
  Attribute attribute();
  Attributes attributes();  ///< `{name = value, …}`, or nothing

 private:
  Lexer lexer_;
  Token token_;
  Token ahead_;
};

}  // namespace tilewire

#include "compiler/ir/token_stream.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "compiler/support/error.h"

namespace tilewire {

TokenStream::TokenStream(std::string_view text) : lexer_(text) {
  token_ = lexer_.next();
  ahead_ = lexer_.next();
}

void TokenStream::fail_at(const Token& at, const std::string& message) { Lexer::fail(at, message); }

void TokenStream::fail(const std::string& expected) const {
  fail_at(token_, fmt::format("expected {}, found {}", expected, token_.describe()));
}

Token TokenStream::take() {
  Token taken = std::move(token_);
  token_ = std::move(ahead_);
  ahead_ = lexer_.next();
  return taken;
}

Token TokenStream::take(Token::Kind kind, std::string_view what) {
  if (token_.kind != kind) fail(std::string(what));
  return take();
}

bool TokenStream::accept(char punctuation) {
  if (!token_.is(punctuation)) return false;
  take();
  return true;
}

void TokenStream::expect(char punctuation) {
  if (!accept(punctuation)) fail(fmt::format("`{}`", punctuation));
}

bool TokenStream::accept(std::string_view word) {
  if (!token_.is(word)) return false;
  take();
  return true;
}

void TokenStream::keyword(std::string_view word) {
  if (!accept(word)) fail(fmt::format("`{}`", word));
}

std::string TokenStream::identifier(std::string_view what) {
  return take(Token::Kind::kIdentifier, what).text;
}

std::int64_t TokenStream::integer() { return take(Token::Kind::kInteger, "an integer").integer; }

int TokenStream::small_integer() {
  const Token number = token_;
  const std::int64_t value = integer();
  if (value < 0 || value > std::numeric_limits<int>::max()) {
    fail_at(number, fmt::format("{} is out of range here", value));
  }
  return static_cast<int>(value);
}

DType TokenStream::dtype() {
  const std::optional<DType> known =
      token_.kind == Token::Kind::kIdentifier ? dtype_from_name(token_.text) : std::nullopt;
  if (!known) fail("a dtype");
  take();
  return *known;
}

std::vector<std::int64_t> TokenStream::shape() {
  std::vector<std::int64_t> result;
  expect('[');
  if (accept(']')) return result;
  do {
    result.push_back(accept('?') ? kDynamic : integer());
  } while (accept(','));
  expect(']');
  return result;
}

Layout TokenStream::layout() {
  static const std::map<std::string_view, Layout::Kind> fragments = {
      {"fragment", Layout::Kind::kFragment},
      {"fragment_per_row", Layout::Kind::kFragmentPerRow},
      {"fragment_per_column", Layout::Kind::kFragmentPerColumn}};
  Layout result;
  keyword("vector");
  result.vector = small_integer();
  if (!accept(',')) return result;
  const Token kind = take(Token::Kind::kIdentifier, "a layout");
  if (kind.text == "rows") {
    result.kind = Layout::Kind::kRows;
  } else if (kind.text == "per_row") {
    result.kind = Layout::Kind::kPerRow;
  } else if (kind.text == "per_column") {
    result.kind = Layout::Kind::kPerColumn;
  } else if (kind.text == "staged") {
    result.kind = Layout::Kind::kStaged;
    return result;
  } else if (const auto fragment = fragments.find(kind.text); fragment != fragments.end()) {
    result.kind = fragment->second;
    result.lanes = Layout::fragment(result.kind).lanes;
    return result;
  } else {
    fail_at(kind, fmt::format("`{}` is no layout; layouts are `rows`, `per_row`, `per_column`, "
                              "`fragment`, `fragment_per_row`, `fragment_per_column` and `staged`",
                              kind.text));
  }
  result.lanes = small_integer();
  return result;
}

Type TokenStream::type() {
  if (!ahead_.is('<')) return Type::scalar(dtype());
  const Token kind = take(Token::Kind::kIdentifier, "a type");
  expect('<');
  for (const Memory memory : {Memory::kSemaphore, Memory::kFlag, Memory::kChannel}) {
    if (kind.text != name_of(memory)) continue;
    Type object = Type::object(memory, shape());
    expect('>');
    return object;
  }
  const DType element = dtype();
  Type result;
  if (kind.text == "pointer") {
    result = Type::pointer(element);
  } else if (kind.text == "tile") {
    result = Type::tile(element, shape());
    if (accept(',')) result.layout = layout();
  } else if (kind.text == "view" || kind.text == "window") {
    result = Type::view(element, shape(), kind.text == "view" ? Memory::kTensor : Memory::kWindow);
  } else {
    fail_at(kind, fmt::format("`{}` is no type; types are a dtype, `tile<…>`, `view<…>`, "
                              "`window<…>`, `semaphore<…>`, `flag<…>`, `channel<…>` and "
                              "`pointer<…>`",
                              kind.text));
  }
  expect('>');
  return result;
}

Attribute TokenStream::attribute() {
  if (token_.kind == Token::Kind::kInteger) return take().integer;
  if (token_.kind == Token::Kind::kFloat) return take().number;
  if (token_.kind == Token::Kind::kString) return take().text;
  if (accept("true")) return true;
  if (accept("false")) return false;
  if (token_.is('[')) return shape();
  const double sign = accept('-') ? -1.0 : 1.0;
  if (accept("inf")) return std::copysign(std::numeric_limits<double>::infinity(), sign);
  if (accept("nan")) return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  const std::optional<DType> known =
      token_.kind == Token::Kind::kIdentifier ? dtype_from_name(token_.text) : std::nullopt;
  if (!known) fail("an attribute's value (a number, a string, true, false, a dtype or a list)");
  take();
  return *known;
}

Attributes TokenStream::attributes() {
  Attributes result;
  if (!accept('{')) return result;
  do {
    const Token name = take(Token::Kind::kIdentifier, "an attribute's name");
    expect('=');
    if (!result.emplace(name.text, attribute()).second) {
      fail_at(name, fmt::format("attribute `{}` is given twice", name.text));
    }
  } while (accept(','));
  expect('}');
  return result;
}

}  // namespace tilewire

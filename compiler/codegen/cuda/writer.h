#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace tilewire {

/// Text with `{name}` replaced by the value given for it. InternalError for a name without one.
/// `{{` stands for a brace.
std::string substitute(std::string_view text,
                       std::initializer_list<std::pair<std::string_view, std::string_view>> values);

/// Source text, line by line: indentation, scopes, and lines broken at 100 columns.
class Writer {
 public:
  /// One line; a call or an initialiser too long for it is broken at its outermost commas.
  void line(std::string_view text);
  /// A line that is never broken (preprocessor directives, comments).
  void raw_line(std::string_view text);
  /// An empty line, unless a scope was just opened or one stands there already.
  void blank();
  void open(std::string_view head);        ///< `head {`, and one level deeper
  void close(std::string_view tail = "");  ///< one level back, and `}tail`
  /// `} middle {`
  void reopen(std::string_view middle);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_ = 0;
};

/// Names of C++ that are each used once. Words of the language and of the generated text's own
/// scaffolding are never given out.
class UniqueNames {
 public:
  UniqueNames();
  /// `hint` made an identifier, with a number behind it where it is taken.
  std::string make(std::string_view hint);

 private:
  std::set<std::string, std::less<>> taken_;
};

/// `hint` with everything that no identifier may hold replaced by `_`.
std::string to_identifier(std::string_view hint);

}  // namespace tilewire

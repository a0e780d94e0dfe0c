#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

/// A `print` or an `assert`, by name.
struct Report {
  const Value* rank = nullptr;       ///< null in a world of one
  const Value* condition = nullptr;  ///< assert only
  std::vector<const Value*> values;
  /// What is said, `{}` where a value stands; of an assert, about the values.
  std::string text;
  std::string message;  ///< assert only

  static Report of(const Statement& statement);
};

/// The text between the values: one more piece than there are `{}`. `{{` and `}}` are braces.
std::vector<std::string> report_pieces(std::string_view text);

/// Texts as constants of a `CpuReference`: for each its size, then its bytes, eight to a word.
std::vector<std::int64_t> pack_texts(const std::vector<std::string>& texts);

}  // namespace tilewire

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/program.h"

namespace tilewire {

/// Unique names for all values of a program, in order of definition: parameters, dimensions, then
/// each statement's results, its regions' arguments, their statements. A value's own name is taken
/// where it is free, else the first of `name_1`, `name_2`, … that is; values without a name are
/// called after their op. Names that are unique already stay as they are.
class ValueNames {
 public:
  explicit ValueNames(const Program& program);

  /// Without a sigil. `?` for a value that the program doesn't define.
  std::string_view of(const Value* value) const;

 private:
  void add(const Value* value, std::string_view hint);
  void add_region(const Region& region);

  std::unordered_map<const Value*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::map<std::string, int, std::less<>> next_suffix_;
};

/// A letter or `_`, then letters, digits and `_`; bytes above 127 count as letters, since Python
/// allows them in names.
bool is_identifier(std::string_view text);
bool starts_identifier(char character);
bool continues_identifier(char character);

}  // namespace tilewire

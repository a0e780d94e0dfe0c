#pragma once

#include <string>

namespace tilewire {

/// A position in the user's program. Lines and columns count from 1; line 0 means "unknown".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  bool is_known() const { return line > 0; }
  bool operator==(const SourceLocation&) const = default;

  /// `file:line`, as a compiler prints it; empty where the location is unknown.
  std::string to_string() const;
  /// The file name without its folders: what generated text contains, so that it is the same
  /// wherever the project lies.
  std::string file_name() const;
};

}  // namespace tilewire

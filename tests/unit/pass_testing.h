#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/text.h"
#include "compiler/passes/lower.h"
#include "compiler/passes/passes.h"

namespace tilewire {

/// A program from its declarations and statements.
inline Program program_of(const std::string& declarations, const std::string& statements,
                          int world_size = 1, int lsa_size = 0) {
  return parse_program("program @p from \"f.py\" world " + std::to_string(world_size) + " lsa " +
                       std::to_string(lsa_size == 0 ? world_size : lsa_size) + " {\n" +
                       declarations + "\n} body {\n" + statements + "\n}\n");
}

/// The statements of a program's text, two spaces less indented, without locations.
inline std::string body_of(const Program& program) {
  verify(program);
  PrintOptions options;
  options.locations = false;
  const std::string text = print(program, options);
  const std::size_t start = text.find("} body {\n") + 9;
  std::string body = text.substr(start, text.size() - start - 2);
  std::string result = "\n";
  while (!body.empty()) {
    const std::size_t end = body.find('\n') + 1;
    result += body.substr(2, end - 2);
    body.erase(0, end);
  }
  return result;
}

/// Occurrences of `part` in `text`.
inline int count_of(std::string_view text, std::string_view part) {
  int count = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos;
       at = text.find(part, at + part.size())) {
    ++count;
  }
  return count;
}

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compiler/jit/nvrtc.h"

namespace tilewire {

/// An `#include` line of a text.
struct IncludeLine {
  std::size_t begin;    ///< of the line
  std::size_t end;      ///< of the line, its line feed not included
  std::string spelled;  ///< between the quotes or brackets
};

/// The first one at or after `from`, whether or not a condition around it holds.
std::optional<IncludeLine> next_include(const std::string& text, std::size_t from);

/// The headers of `pool` that `source` includes, directly or not, sorted by name. Names that the
/// pool lacks are left to the compiler, which names the line.
std::vector<Header> reachable_headers(const std::string& source, const std::vector<Header>& pool);

/// Whether `source`, or a header of `pool` that it includes, includes `name`.
bool includes(const std::string& source, const std::vector<Header>& pool, const std::string& name);

}  // namespace tilewire

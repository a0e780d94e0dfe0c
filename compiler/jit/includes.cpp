#include "compiler/jit/includes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace tilewire {
namespace {

/// All names that `source` includes, directly or through the pool.
std::set<std::string> included_names(const std::string& source, const std::vector<Header>& pool) {
  std::map<std::string_view, const Header*> by_name;
  for (const Header& header : pool) by_name.emplace(header.name, &header);
  std::set<std::string> names;
  std::vector<const std::string*> texts = {&source};
  while (!texts.empty()) {
    const std::string& text = *texts.back();
    texts.pop_back();
    std::size_t from = 0;
    while (const auto line = next_include(text, from)) {
      from = line->end;
      if (!names.insert(line->spelled).second) continue;
      const auto found = by_name.find(line->spelled);
      if (found != by_name.end()) texts.push_back(&found->second->text);
    }
  }
  return names;
}

}  // namespace

std::optional<IncludeLine> next_include(const std::string& text, std::size_t from) {
  constexpr std::string_view kInclude = "include";
  for (auto at = text.find(kInclude, from); at != std::string::npos;
       at = text.find(kInclude, at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const std::size_t hash = text.find_first_not_of(" \t", line);
    if (text[hash] != '#' || text.find_first_not_of(" \t", hash + 1) != at) continue;
    const std::size_t open = text.find_first_of("<\"\n", at);
    if (open == std::string::npos || text[open] == '\n') continue;
    const std::size_t close = text.find_first_of(">\"\n", open + 1);
    if (close == std::string::npos || text[close] == '\n') continue;
    const std::size_t end = std::min(text.find('\n', close), text.size());
    return IncludeLine{line, end, text.substr(open + 1, close - open - 1)};
  }
  return std::nullopt;
}

std::vector<Header> reachable_headers(const std::string& source, const std::vector<Header>& pool) {
  const auto names = included_names(source, pool);
  std::map<std::string, const Header*> sorted;
  for (const Header& header : pool) {
    if (names.count(header.name) > 0) sorted.emplace(header.name, &header);
  }
  std::vector<Header> headers;
  for (const auto& [name, header] : sorted) headers.push_back(*header);
  return headers;
}

bool includes(const std::string& source, const std::vector<Header>& pool, const std::string& name) {
  return included_names(source, pool).count(name) > 0;
}

}  // namespace tilewire

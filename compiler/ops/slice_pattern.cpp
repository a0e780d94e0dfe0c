#include <fmt/format.h>

#include <charconv>

#include "compiler/ops/memory.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::string_view kBelow = " below";

SlicePattern parse_one(std::string_view word) {
  if (word == "at") return {SliceIndex::Kind::kAt};
  if (word == "all") return {SliceIndex::Kind::kAll};
  if (word == "range") return {SliceIndex::Kind::kRange};
  if (word == "tile") return {SliceIndex::Kind::kTile};
  const bool is_below = word.ends_with(kBelow);
  const std::string_view sized = is_below ? word.substr(0, word.size() - kBelow.size()) : word;
  std::int64_t size = 0;
  if (sized.starts_with("ds ")) {
    const char* stop = sized.data() + sized.size();
    const auto [end, error] = std::from_chars(sized.data() + 3, stop, size);
    if (error == std::errc() && end == stop) {
      return {is_below ? SliceIndex::Kind::kDsBelow : SliceIndex::Kind::kDs, size};
    }
  }
  throw UserError(
      fmt::format("'{}' is no index pattern: at, all, ds N, ds N below, range, tile", word));
}

std::string_view name_of(SliceIndex::Kind kind) {
  switch (kind) {
    case SliceIndex::Kind::kAt:
      return "at";
    case SliceIndex::Kind::kAll:
      return "all";
    case SliceIndex::Kind::kDs:
    case SliceIndex::Kind::kDsBelow:
      return "ds";
    case SliceIndex::Kind::kRange:
      return "range";
    case SliceIndex::Kind::kTile:
      return "tile";
  }
  return {};
}

}  // namespace

int num_operands(SliceIndex::Kind kind) {
  switch (kind) {
    case SliceIndex::Kind::kAll:
      return 0;
    case SliceIndex::Kind::kAt:
    case SliceIndex::Kind::kDs:
    case SliceIndex::Kind::kTile:
      return 1;
    case SliceIndex::Kind::kDsBelow:
    case SliceIndex::Kind::kRange:
      return 2;
  }
  return 0;
}

std::vector<SlicePattern> parse_slice_pattern(std::string_view text) {
  std::vector<SlicePattern> patterns;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    patterns.push_back(parse_one(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    while (text.starts_with(' ')) text.remove_prefix(1);
  }
  return patterns;
}

std::string slice_pattern_to_string(const std::vector<SlicePattern>& patterns) {
  std::string text;
  for (const SlicePattern& pattern : patterns) {
    if (!text.empty()) text += ", ";
    text += name_of(pattern.kind);
    const bool is_below = pattern.kind == SliceIndex::Kind::kDsBelow;
    if (is_below || pattern.kind == SliceIndex::Kind::kDs) text += fmt::format(" {}", pattern.size);
    if (is_below) text += kBelow;
  }
  return text;
}

std::vector<SliceIndex> slice_indices(const Statement& slice) {
  std::vector<SliceIndex> indices;
  std::size_t next = 1;
  for (const SlicePattern& pattern : parse_slice_pattern(slice.text("index"))) {
    SliceIndex index{pattern.kind, nullptr, nullptr, pattern.size};
    const int count = num_operands(pattern.kind);
    if (count > 0) index.first = slice.operands.at(next++);
    if (count > 1) index.second = slice.operands.at(next++);
    indices.push_back(index);
  }
  return indices;
}

}  // namespace tilewire

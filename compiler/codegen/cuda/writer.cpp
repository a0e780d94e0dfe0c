#include "compiler/codegen/cuda/writer.h"

#include <fmt/format.h>

#include <cctype>
#include <vector>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::size_t kColumns = 100;
constexpr int kIndent = 2;
constexpr int kContinuation = 4;

/// Which characters belong to string literals.
std::vector<bool> in_quotes(std::string_view text) {
  std::vector<bool> quoted(text.size());
  bool is_inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    quoted[i] = is_inside || text[i] == '"';
    if (is_inside && text[i] == '\\') {
      if (++i < text.size()) quoted[i] = true;
    } else if (text[i] == '"') {
      is_inside = !is_inside;
    }
  }
  return quoted;
}

/// Positions behind the commas inside `level` brackets; template arguments stay together.
std::vector<std::size_t> commas_at(int level, std::string_view text) {
  std::vector<std::size_t> ends;
  int depth = 0;
  int angles = 0;  // between `<` and `>` of template arguments
  const std::vector<bool> quoted = in_quotes(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted[i]) continue;
    if (c == '<' && i > 0 && text[i - 1] != ' ') ++angles;
    if (c == '>' && angles > 0) --angles;
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (c == ',' && depth == level && angles == 0) ends.push_back(i + 1);
  }
  return ends;
}

/// The text cut at as few of `points` as it takes to fit into `room`, what follows a cut into
/// `room_behind`; a piece without a point in it may be longer.
std::vector<std::string_view> cut(std::string_view text, std::vector<std::size_t> points,
                                  std::size_t room, std::size_t room_behind) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  std::size_t end = 0;
  points.push_back(text.size());
  for (const std::size_t point : points) {
    if (point - start > room && end > start) {
      pieces.push_back(text.substr(start, end - start));
      start = text[end] == ' ' ? end + 1 : end;
      room = room_behind;
    }
    end = point;
  }
  pieces.push_back(text.substr(start));
  return pieces;
}

/// How a line that is too long is best broken: behind `=` if that is enough, else between
/// arguments, else at both.
std::vector<std::string_view> broken(std::string_view text, std::size_t room,
                                     std::size_t room_behind) {
  std::vector<std::size_t> assignment;
  const std::size_t equals = text.find(" = ");
  if (equals != std::string_view::npos && equals < text.find('"')) {
    assignment.push_back(equals + 2);
  }
  std::vector<std::size_t> commas = commas_at(1, text);
  if (commas.empty()) commas = commas_at(2, text);
  std::vector<std::size_t> all = assignment;
  all.insert(all.end(), commas.begin(), commas.end());
  std::vector<std::string_view> pieces;
  for (const auto& points : {assignment, commas, all}) {
    pieces = cut(text, points, room, room_behind);
    bool fits = pieces.front().size() <= room;
    for (std::size_t i = 1; i < pieces.size(); ++i) fits &= pieces[i].size() <= room_behind;
    if (fits) break;
  }
  return pieces;
}

}  // namespace

std::string substitute(
    std::string_view text,
    std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') {
      result += text[i];
      continue;
    }
    if (text.substr(i, 2) == "{{") {
      result += '{';
      ++i;
      continue;
    }
    const std::size_t end = text.find('}', i);
    const std::string_view name = text.substr(i + 1, end - i - 1);
    const auto* found = values.begin();
    while (found != values.end() && found->first != name) ++found;
    if (end == std::string_view::npos || found == values.end()) {
      throw InternalError(fmt::format("no value for '{}' in the text '{}'", name, text));
    }
    result += found->second;
    i = end;
  }
  return result;
}

void Writer::raw_line(std::string_view text) {
  text_.append(static_cast<std::size_t>(depth_ * kIndent), ' ').append(text).append("\n");
}

void Writer::line(std::string_view text) {
  const std::size_t room = kColumns - static_cast<std::size_t>(depth_ * kIndent);
  if (text.size() <= room) return raw_line(text);
  const auto pieces = broken(text, room, room - kContinuation);
  raw_line(pieces.front());
  depth_ += kContinuation / kIndent;
  for (std::size_t i = 1; i < pieces.size(); ++i) raw_line(pieces[i]);
  depth_ -= kContinuation / kIndent;
}

void Writer::blank() {
  if (text_.empty() || text_.ends_with("{\n") || text_.ends_with("\n\n")) return;
  text_ += '\n';
}

void Writer::open(std::string_view head) {
  line(std::string(head) + " {");
  ++depth_;
}

void Writer::close(std::string_view tail) {
  --depth_;
  raw_line("}" + std::string(tail));
}

void Writer::reopen(std::string_view middle) {
  --depth_;
  raw_line(fmt::format("}} {} {{", middle));
  ++depth_;
}

std::string to_identifier(std::string_view hint) {
  std::string name;
  for (const char c : hint) {
    const bool is_ascii = static_cast<unsigned char>(c) < 128;
    name += is_ascii && (std::isalnum(c) != 0 || c == '_') ? c : '_';
  }
  // Two underscores, and one before a capital, belong to the compiler.
  while (name.find("__") != std::string::npos) name.erase(name.find("__"), 1);
  while (!name.empty() && name.front() == '_') name.erase(0, 1);
  if (name.empty()) name = "value";
  if (std::isdigit(name.front()) != 0) name.insert(0, "n");
  return name;
}

UniqueNames::UniqueNames()
    : taken_{// C++
             "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool",
             "break", "case", "catch", "char", "char8_t", "char16_t", "char32_t", "class", "compl",
             "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue",
             "co_await", "co_return", "co_yield", "decltype", "default", "delete", "do", "double",
             "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float",
             "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
             "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private",
             "protected", "public", "register", "reinterpret_cast", "requires", "return", "short",
             "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch",
             "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid",
             "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t",
             "while", "xor", "xor_eq", "main", "std", "typeof", "linux", "unix", "NULL", "EOF",
             "signbit", "isnan", "isinf", "isfinite",
             // CUDA
             "threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "dim3", "uint2", "uint4",
             // the generated text itself
             "tw", "tilewire", "comm", "lane", "shared", "barrier", "grid_barrier",
             "local_grid_barrier", "copier", "copy_stages", "nccl", "kThreads", "launch_counters",
             "counter_words", "launch", "ring", "staged", "stores", "hand_over", "handed_over",
             "index_ring", "index_places", "mover", "mover_turns", "arrival_words"} {}

std::string UniqueNames::make(std::string_view hint) {
  const std::string base = to_identifier(hint);
  std::string name = base;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

}  // namespace tilewire

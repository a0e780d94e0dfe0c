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

/// Where the arguments of the outermost call that doesn't fit may be broken: positions behind
/// commas at bracket depth 1. Angle brackets count where they follow a name.
std::vector<std::size_t> break_points(std::string_view text) {
  std::vector<std::size_t> points;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_template = c == '<' && i > 0 && (std::isalnum(text[i - 1]) != 0);
    if (c == '(' || c == '{' || is_template) ++depth;
    if (c == ')' || c == '}' || (c == '>' && depth > 0 && i > 0 && text[i - 1] != ' ')) --depth;
    if (c == ',' && depth == 1) points.push_back(i + 1);
  }
  return points;
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
  const std::size_t indent = static_cast<std::size_t>(depth_ * kIndent);
  if (indent + text.size() <= kColumns) return raw_line(text);
  std::size_t start = 0;
  std::size_t room = kColumns - indent;
  std::vector<std::size_t> points = break_points(text);
  points.push_back(text.size());
  std::size_t end = 0;
  for (const std::size_t point : points) {
    if (point - start > room && end > start) {
      raw_line(text.substr(start, end - start));
      if (start == 0) depth_ += kContinuation / kIndent;
      room = kColumns - indent - kContinuation;
      start = text[end] == ' ' ? end + 1 : end;
    }
    end = point;
  }
  const bool is_broken = start > 0;
  raw_line(text.substr(start));
  if (is_broken) depth_ -= kContinuation / kIndent;
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
             "tw", "tilewire", "comm", "lane", "shared", "barrier", "nccl", "kThreads"} {}

std::string UniqueNames::make(std::string_view hint) {
  const std::string base = to_identifier(hint);
  std::string name = base;
  for (int i = 2; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

}  // namespace tilewire

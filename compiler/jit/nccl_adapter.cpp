#include "compiler/jit/nccl_adapter.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <regex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/jit/includes.h"

namespace tilewire {
namespace {

/// The text with comments and string literals blanked, at equal positions: what a search for
/// brackets may look at.
std::string code_only(std::string_view text) {
  std::string code(text);
  const auto blank = [&code](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  };
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text.substr(i, 2) == "//") {
      end = std::min(text.find('\n', i), text.size());
      blank(i, end);
    } else if (text.substr(i, 2) == "/*") {
      end = std::min(text.find("*/", i), text.size() - 2) + 2;
      blank(i, end);
    } else if (text[i] == '"' || text[i] == '\'') {
      while (end < text.size() && text[end] != text[i] && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      end = std::min(end + 1, text.size());
      blank(i, end);
    }
    i = end;
  }
  return code;
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

std::size_t skip_spaces(const std::string& code, std::size_t at) {
  while (at < code.size() && is_space(code[at])) ++at;
  return at;
}

/// Behind the bracket that closes the one at `at`; npos if none does.
std::size_t behind_bracket(const std::string& code, std::size_t at) {
  int depth = 0;
  for (; at < code.size(); ++at) {
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1 : 0;
    if (depth == 0) return at + 1;
  }
  return std::string::npos;
}

/// The brace that the one at `close` closes; npos if none.
std::size_t opening_brace(const std::string& code, std::size_t close) {
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    depth += code[at] == '}' ? 1 : code[at] == '{' ? -1 : 0;
    if (depth == 0) return at;
  }
  return std::string::npos;
}

/// Behind the keyword of the struct or union whose body opens at `open`; nothing if it is neither.
std::optional<std::size_t> behind_struct_keyword(const std::string& code, std::size_t open) {
  const std::size_t statement = code.find_last_of(";{}", open - 1) + 1;  // npos + 1 is 0
  std::optional<std::size_t> found;
  for (const std::string_view keyword : {"struct", "union"}) {
    const std::size_t at = code.rfind(keyword, open);
    if (at == std::string::npos || at < statement) continue;
    const std::size_t behind = at + keyword.size();
    const bool whole = !std::isalnum(static_cast<unsigned char>(code[behind])) &&
                       code[behind] != '_' && (at == 0 || is_space(code[at - 1]));
    if (whole && (!found || behind > *found)) found = behind;
  }
  return found;
}

/// A run of attributes behind a closing brace.
struct TrailingAttributes {
  std::size_t begin;   ///< first character of the first attribute
  std::size_t end;     ///< behind the last one
  std::size_t insert;  ///< where they belong
};

std::optional<TrailingAttributes> next_trailing_attributes(const std::string& code,
                                                           std::size_t from) {
  constexpr std::string_view kAttribute = "__attribute__";
  for (auto close = code.find('}', from); close != std::string::npos;
       close = code.find('}', close + 1)) {
    const std::size_t begin = skip_spaces(code, close + 1);
    std::size_t end = begin;
    for (std::size_t at = begin; code.compare(at, kAttribute.size(), kAttribute) == 0;
         at = skip_spaces(code, end)) {
      const std::size_t behind = behind_bracket(code, skip_spaces(code, at + kAttribute.size()));
      if (behind == std::string::npos) break;
      end = behind;
    }
    if (end == begin) continue;
    const std::size_t open = opening_brace(code, close);
    if (open == std::string::npos || open == 0) continue;
    if (const auto insert = behind_struct_keyword(code, open)) {
      return TrailingAttributes{begin, end, *insert};
    }
  }
  return std::nullopt;
}

}  // namespace

std::string move_attributes_before_names(std::string_view original) {
  std::string text(original);
  if (text.find("__attribute__") == std::string::npos) return text;
  while (const auto found = next_trailing_attributes(code_only(text), 0)) {
    const std::string attributes = text.substr(found->begin, found->end - found->begin);
    text.erase(found->begin, found->end - found->begin);
    text.insert(found->insert, " " + attributes);
  }
  return text;
}

std::string without_empty_arrays(std::string_view text) {
  if (text.find("[sizeof(") == std::string_view::npos) return std::string(text);
  static const std::regex array(R"(\[(sizeof\(\w+\)\s*/\s*\w+)\s*\])");
  return std::regex_replace(std::string(text), array, "[($1) > 0 ? ($1) : 1]");
}

std::string without_reference_types(std::string_view text) {
  if (text.find("TYPEOF") == std::string_view::npos) return std::string(text);
  static const std::regex type_of(R"((#[ \t]*define[ \t]+TYPEOF\(x\)[ \t]+)decltype\(x\))");
  return std::regex_replace(std::string(text), type_of, "$1typeof(x)");
}

namespace {

namespace fs = std::filesystem;

bool network_has(const NcclFiles& files, std::string_view text) {
  const auto file = files.find("nccl_device/gin.h");
  return file != files.end() && file->second.find(text) != std::string::npos;
}

}  // namespace

bool network_has_get(const NcclFiles& files) { return network_has(files, " void get("); }

namespace {

/// Standard and CUDA headers that code for NVRTC names, and the template that stands in.
constexpr std::array<std::pair<std::string_view, std::string_view>, 29> kStandIns = {{
    {"stdint.h", "standard"},      {"stddef.h", "standard"},
    {"stdbool.h", "standard"},     {"stdio.h", "standard"},
    {"limits.h", "standard"},      {"assert.h", "standard"},
    {"errno.h", "standard"},       {"math.h", "standard"},
    {"string.h", "standard"},      {"linux/types.h", "standard"},
    {"cstdint", "standard"},       {"cstddef", "standard"},
    {"cstdio", "standard"},        {"climits", "standard"},
    {"cassert", "standard"},       {"cerrno", "standard"},
    {"cmath", "standard"},         {"cstring", "standard"},
    {"new", "standard"},           {"cuda/atomic", "atomic"},
    {"cuda/std/atomic", "atomic"}, {"cuda.h", "cuda"},
    {"cuda_runtime.h", "cuda"},    {"cuda_runtime_api.h", "cuda"},
    {"cuda_fp16.h", "cuda"},       {"cuda_bf16.h", "cuda"},
    {"cuda_fp8.h", "cuda"},        {"cooperative_groups.h", "cuda"},
    {"driver_types.h", "cuda"},
}};

/// The file that an include line of `file` means, relative to the include folder; empty for one
/// that is not NCCL's.
std::string resolve(const NcclFiles& files, const std::string& file, const std::string& spelled) {
  auto beside = (fs::path(file).parent_path() / spelled).lexically_normal().string();
  if (files.find(beside) != files.end()) return beside;
  auto root = fs::path(spelled).lexically_normal().string();
  return files.find(root) != files.end() ? root : std::string();
}

/// Rewrites include lines to paths relative to the include folder and reports the files they mean.
std::string with_resolved_includes(const NcclFiles& files, const std::string& file,
                                   const std::string& text, std::vector<std::string>& included) {
  std::string result;
  std::size_t copied = 0;
  std::size_t from = 0;
  while (const auto line = next_include(text, from)) {
    from = line->end;
    const std::string target = resolve(files, file, line->spelled);
    if (target.empty()) continue;
    result.append(text, copied, line->begin - copied);
    result += fmt::format("#include \"{}\"", target);
    copied = line->end;
    included.push_back(target);
  }
  return result.append(text, copied);
}

/// What the slim form keeps of a file about the network: declarations that structs need, nothing
/// that runs on the device.
std::string declarations_only(const std::string& text) {
  static const std::regex device(R"(#[ \t]*if[ \t]+(defined[ \t]*\([ \t]*)?__CUDACC__[ \t]*\)?)");
  return std::regex_replace(text, device, "#if 0");
}

bool is_about_network(const std::string& file) {
  return file.find("/gin") != std::string::npos || file.find("net_device") != std::string::npos;
}

/// What templates ask about a version's network.
std::string network_facts(const NcclFiles& files) {
  std::string text;
  if (network_has(files, "struct ncclGin_StrongSignalAdd")) {
    text += "#define TILEWIRE_GIN_STRONG_SIGNALS 1\n";
  }
  if (network_has_get(files)) text += "#define TILEWIRE_GIN_GET 1\n";
  if (network_has(files, "uint64_t timeoutCycles")) text += "#define TILEWIRE_GIN_TIMEOUTS 1\n";
  return text;
}

std::string root_text(const NcclFiles& files, NcclForm form) {
  static constexpr std::array<std::string_view, 7> kSlim = {"coop.h",
                                                            "impl/core__types.h",
                                                            "impl/comm__types.h",
                                                            "impl/comm__funcs.h",
                                                            "impl/core__funcs.h",
                                                            "impl/lsa_barrier__funcs.h",
                                                            "impl/ptr__funcs.h"};
  static constexpr std::array<std::string_view, 4> kNetwork = {
      "impl/ll_a2a__funcs.h", "impl/gin__funcs.h", "impl/gin_barrier__funcs.h",
      "impl/barrier__funcs.h"};
  std::string text = "#pragma once\n#include \"tilewire/nvrtc/standard.cuh\"\n";
  const auto include = [&](std::string_view name) {
    const auto file = fmt::format("nccl_device/{}", name);
    if (files.find(file) != files.end()) text += fmt::format("#include \"{}\"\n", file);
  };
  // A backend whose headers this installation lacks is left out.
  if (files.lower_bound("nccl_device/gin/gdaki/doca_gpunetio/") ==
      files.lower_bound("nccl_device/gin/gdaki/doca_gpunetio0")) {
    text += "#define NCCL_GIN_GDAKI_ENABLE 0\n";
  }
  // Amazon's, since 2.31: its headers hold what NVRTC has no form of (docs/compiling.md).
  text += "#define NCCL_GIN_EFA_GDA_ENABLE 0\n";
  if (form == NcclForm::kFull) text += network_facts(files);
  for (const auto name : kSlim) include(name);
  if (form == NcclForm::kFull) {
    for (const auto name : kNetwork) include(name);
  }
  return text;
}

}  // namespace

std::vector<Header> adapt_nccl_headers(const NcclFiles& files, NcclForm form) {
  std::vector<Header> headers;
  std::vector<std::string> wanted;
  const std::string root = root_text(files, form);
  headers.push_back({"nccl_device.h", with_resolved_includes(files, "", root, wanted)});
  // Since 2.32 what the host hands to NCCL stands in a header of its own.
  const bool has_host = files.find("nccl_device/host.h") != files.end();
  const std::string host = "#pragma once\n#include \"nccl_device.h\"\n" +
                           std::string(has_host ? "#include \"nccl_device/host.h\"\n" : "");
  headers.push_back({kNcclHostHeader, with_resolved_includes(files, "", host, wanted)});
  std::set<std::string> done = {"nccl_device.h"};
  while (!wanted.empty()) {
    const std::string file = wanted.back();
    wanted.pop_back();
    if (!done.insert(file).second) continue;
    std::string text = files.find(file)->second;
    if (form == NcclForm::kSlim && is_about_network(file)) text = declarations_only(text);
    text = without_reference_types(without_empty_arrays(move_attributes_before_names(text)));
    headers.push_back({file, with_resolved_includes(files, file, text, wanted)});
  }
  std::sort(headers.begin(), headers.end(),
            [](const Header& a, const Header& b) { return a.name < b.name; });
  return headers;
}

std::vector<Header> standard_headers(NcclForm form) {
  std::vector<Header> headers;
  for (const auto& [name, stand_in] : kStandIns) {
    std::string text;
    if (stand_in == "atomic" && form == NcclForm::kFull) {
      text = "#define TILEWIRE_NVRTC_ATOMIC_RMW 1\n";
    }
    text += fmt::format("#include \"tilewire/nvrtc/{}.cuh\"\n", stand_in);
    headers.push_back({std::string(name), text});
  }
  return headers;
}

}  // namespace tilewire

#include "compiler/support/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::array<std::string_view, 7> kDumpStages = {"ir",    "passes", "cuda",  "ptx",
                                                         "cubin", "llvm",   "object"};

// More than any network card serves; NCCL gives what it can.
constexpr std::uint64_t kMaxGinContexts = 1024;
constexpr std::uint64_t kMaxGinSignals = 1u << 24;

/// Unset is null; set to nothing is an empty text.
std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

/// The first of these variables that is set to something.
std::string first_of(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto value = variable(name);
    if (value && !value->empty()) return *value;
  }
  return {};
}

[[noreturn]] void fail(std::string_view name, std::string_view value, std::string_view expected) {
  throw UserError(fmt::format("environment variable {}='{}': expected {}", name, value, expected));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

double seconds(const char* name, double otherwise) {
  const auto text = variable(name);
  if (!text || text->empty()) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  // A nanosecond count of it must fit 64 bits.
  const bool good = *end == '\0' && std::isfinite(value) && value > 0.0 && value <= 1e9;
  if (!good) fail(name, *text, "a number of seconds above 0 and at most 1e9, like 600 or 2.5");
  return value;
}

std::uint64_t unsigned_integer(
    const char* name, std::uint64_t otherwise,
    const std::string& expected = "an integer from 0 to 18446744073709551615") {
  const auto text = variable(name);
  if (!text || text->empty()) return otherwise;
  const bool digits = text->find_first_not_of("0123456789") == std::string::npos;
  errno = 0;
  const std::uint64_t value = std::strtoull(text->c_str(), nullptr, 10);
  if (!digits || errno == ERANGE) fail(name, *text, expected);
  return value;
}

int count(const char* name, int otherwise, std::uint64_t most) {
  const std::string expected = fmt::format("an integer from 1 to {}", most);
  const std::uint64_t value =
      unsigned_integer(name, static_cast<std::uint64_t>(otherwise), expected);
  if (value < 1 || value > most) fail(name, std::to_string(value), expected);
  return static_cast<int>(value);
}

std::filesystem::path cache_folder() {
  if (const auto value = variable("TILEWIRE_CACHE_DIR")) return *value;
  if (const auto xdg = first_of({"XDG_CACHE_HOME"}); !xdg.empty()) {
    return std::filesystem::path(xdg) / "tilewire";
  }
  const auto home = first_of({"HOME"});
  return home.empty() ? std::filesystem::path()
                      : std::filesystem::path(home) / ".cache" / "tilewire";
}

std::vector<std::string> dump_stages() {
  const auto text = first_of({"TILEWIRE_DUMP"});
  auto stages = split(text, ',');
  for (const std::string& stage : stages) {
    if (std::find(kDumpStages.begin(), kDumpStages.end(), stage) == kDumpStages.end()) {
      fail("TILEWIRE_DUMP", text,
           fmt::format("stages out of {}, separated by commas", fmt::join(kDumpStages, ", ")));
    }
  }
  return stages;
}

}  // namespace

Environment Environment::read() {
  Environment environment;
  environment.cache_dir = cache_folder();
  environment.dump = dump_stages();
  const auto dump_dir = first_of({"TILEWIRE_DUMP_DIR"});
  environment.dump_dir = dump_dir.empty() ? "tilewire-dump" : dump_dir;
  environment.timeout_s = seconds("TILEWIRE_TIMEOUT", environment.timeout_s);
  const double half = environment.timeout_s / 2;
  environment.report_after_s =
      std::min(seconds("TILEWIRE_REPORT_AFTER", environment.report_after_s), half);
  environment.seed = unsigned_integer("TILEWIRE_SEED", environment.seed);
  const std::uint64_t check = unsigned_integer("TILEWIRE_CHECK", 0, "0 or 1");
  if (check > 1) fail("TILEWIRE_CHECK", std::to_string(check), "0 or 1");
  environment.check = check == 1;
  environment.gin_contexts =
      count("TILEWIRE_GIN_CONTEXTS", environment.gin_contexts, kMaxGinContexts);
  environment.gin_signals = count("TILEWIRE_GIN_SIGNALS", environment.gin_signals, kMaxGinSignals);
  environment.cuda_home = first_of({"TILEWIRE_CUDA_HOME", "CUDA_HOME", "CUDA_PATH"});
  environment.nccl_home = first_of({"TILEWIRE_NCCL_HOME", "NCCL_HOME"});
  environment.nccl_nvls_enable = first_of({"NCCL_NVLS_ENABLE"});
  environment.nccl_gin_enable = first_of({"NCCL_GIN_ENABLE"});
  for (std::string& folder : split(first_of({"TILEWIRE_SITE_PACKAGES"}), ':')) {
    environment.site_packages.emplace_back(std::move(folder));
  }
  return environment;
}

const Environment& Environment::get() {
  static const Environment environment = read();
  return environment;
}

std::vector<std::string_view> Environment::variable_names() {
  return {"TILEWIRE_CACHE_DIR",
          "XDG_CACHE_HOME",
          "HOME",
          "TILEWIRE_DUMP",
          "TILEWIRE_DUMP_DIR",
          "TILEWIRE_TIMEOUT",
          "TILEWIRE_REPORT_AFTER",
          "TILEWIRE_SEED",
          "TILEWIRE_CHECK",
          "TILEWIRE_GIN_CONTEXTS",
          "TILEWIRE_GIN_SIGNALS",
          "TILEWIRE_CUDA_HOME",
          "CUDA_HOME",
          "CUDA_PATH",
          "TILEWIRE_NCCL_HOME",
          "NCCL_HOME",
          "NCCL_NVLS_ENABLE",
          "NCCL_GIN_ENABLE",
          "TILEWIRE_SITE_PACKAGES"};
}

}  // namespace tilewire

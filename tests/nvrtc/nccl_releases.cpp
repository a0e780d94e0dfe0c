#include "tests/nvrtc/nccl_releases.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/support/files.h"
#include "tests/catch.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

std::vector<std::shared_ptr<const NcclHeaders>> fetched() {
  std::vector<std::shared_ptr<const NcclHeaders>> releases;
  std::error_code error;
  for (const auto& folder : fs::directory_iterator(TILEWIRE_SOURCE_DIR "/.cache/nccl", error)) {
    if (!fs::is_directory(folder.path() / "include")) continue;  // being fetched
    releases.push_back(NcclHeaders::read(folder.path() / "include"));
  }
  std::ranges::sort(releases,
                    [](const auto& a, const auto& b) { return a->version() < b->version(); });
  return releases;
}

/// The minor versions that tilewire knows and that were not fetched.
std::vector<std::string> missing(const std::vector<std::shared_ptr<const NcclHeaders>>& releases) {
  std::set<int> minors;
  for (const auto& headers : releases) minors.insert(headers->version().minor);
  std::vector<std::string> names;
  for (int minor = kOldestNccl.minor; minor < kFirstUnknownNccl.minor; ++minor) {
    if (minors.count(minor) == 0) names.push_back(fmt::format("2.{}", minor));
  }
  return names;
}

const std::vector<std::shared_ptr<const NcclHeaders>>& releases() {
  static const auto known = fetched();
  return known;
}

}  // namespace

void for_each_nccl_release(const OfRelease& test) {
  if (const auto names = missing(releases()); !names.empty()) {
    const std::string message = fmt::format(
        "no headers of NCCL {} in .cache/nccl: run `.ci/nccl-headers`, which takes them from the "
        "package registry",
        fmt::join(names, ", "));
    if (std::getenv("CI") != nullptr) FAIL(message);
    WARN("skipped: " << message);
    return;
  }
  for (const auto& headers : releases()) {
    INFO("NCCL " << headers->version().to_string());
    test(*headers);
  }
}

NcclForm form_of(const std::string& source) {
  const bool network = source.find("tilewire/network") != std::string::npos ||
                       source.find("ncclGin") != std::string::npos;
  return network ? NcclForm::kFull : NcclForm::kSlim;
}

std::string probe_text(const std::string& name) {
  const auto text = read_file(fs::path(TILEWIRE_SOURCE_DIR "/tests/nvrtc/probes") / name);
  REQUIRE(text);
  return *text;
}

#include "runtime/nccl/nccl.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "compiler/support/error.h"
#include "compiler/support/shared_library.h"
#include "runtime/driver/watchdog.h"

namespace tilewire::nccl {
namespace {

/// Before it, windows and device communicators were still changing within 2.28.
constexpr int kOldestVersion = 22807;

const Api* load() {
  const SharedLibrary library = load_library(nccl_library());
  const std::string path = library.path().string();
  // The version decides first: an old library lacks the newer functions.
  int version = 0;
  const auto get_version = library.function<Result (*)(int*)>("ncclGetVersion");
  if (get_version(&version) != kSuccess) {
    throw BackendError(fmt::format("NCCL ({}): ncclGetVersion failed", path));
  }
  require_known_version(version, path);
  auto* api = new Api;  // as long as the process
#define TILEWIRE_LOAD(member, symbol, ...) \
  api->member = library.function<decltype(api->member)>(#symbol);
  TILEWIRE_NCCL_FUNCTIONS(TILEWIRE_LOAD)
#undef TILEWIRE_LOAD
  api->version = version;
  api->path = path;
  return api;
}

}  // namespace

std::string version_to_string(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

void require_known_version(int version, const std::string& path) {
  if (version < kOldestVersion) {
    throw BackendError(
        fmt::format("NCCL {} ({}) is too old: tilewire needs its device API as of {}. Install a "
                    "newer one (pip install 'nvidia-nccl-cu13>=2.28.7,<2.29'), or name one with "
                    "TILEWIRE_NCCL_HOME",
                    version_to_string(version), path, version_to_string(kOldestVersion)));
  }
  // How a device communicator is asked for differs by minor version: one row each.
  switch (version / 100) {
    case 228:
      return;
    default:
      throw BackendError(
          fmt::format("NCCL {} ({}) asks for device communicators in a way that this tilewire "
                      "doesn't know; it knows 2.28 (2.28.7 or newer). Name such a one with "
                      "TILEWIRE_NCCL_HOME",
                      version_to_string(version), path));
  }
}

const Api& api() {
  static const Api* const loaded = load();
  return *loaded;
}

namespace {

/// PyTorch can make communicators whose calls return before they are done.
Result wait_until_done(Comm comm) {
  Result result = kInProgress;
  while (result == kInProgress) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (api().comm_async_error(comm, &result) != kSuccess) return result;
  }
  return result;
}

}  // namespace

void check(Result result, std::string_view call, Comm comm) {
  if (result == kInProgress && comm != nullptr) result = wait_until_done(comm);
  if (result == kSuccess) [[likely]]
    return;
  Watchdog::get().raise_if_hung();
  const Api& nccl = api();
  const char* last = nccl.last_error(comm);
  throw BackendError(fmt::format(
      "NCCL {} ({}): {} failed: {} ({}){}. NCCL_DEBUG=WARN makes NCCL say more",
      version_to_string(nccl.version), nccl.path, call, result, nccl.error_string(result),
      last != nullptr && *last != '\0' ? fmt::format(": {}", last) : ""));
}

}  // namespace tilewire::nccl

#include "runtime/nccl/nccl.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "compiler/support/error.h"
#include "compiler/support/shared_library.h"
#include "runtime/driver/watchdog.h"

namespace tilewire::nccl {
namespace {

const Api* load() {
  const SharedLibrary library = load_library(nccl_library());
  const std::string path = library.path().string();
  // The version decides first: an old library lacks the newer functions.
  int code = 0;
  const auto get_version = library.function<Result (*)(int*)>("ncclGetVersion");
  if (get_version(&code) != kSuccess) {
    throw BackendError(fmt::format("NCCL ({}): ncclGetVersion failed", path));
  }
  const NcclVersion version = NcclVersion::from_code(code);
  require_known_version(version, path);
  auto* api = new Api;  // as long as the process
#define TILEWIRE_LOAD(member, symbol, ...) \
  api->member = library.function<decltype(api->member)>(#symbol);
  TILEWIRE_NCCL_FUNCTIONS(TILEWIRE_LOAD)
#undef TILEWIRE_LOAD
#define TILEWIRE_FIND(member, symbol, ...) \
  api->member = reinterpret_cast<decltype(api->member)>(library.find(#symbol));
  TILEWIRE_NCCL_OPTIONAL_FUNCTIONS(TILEWIRE_FIND)
#undef TILEWIRE_FIND
  api->version = version;
  api->path = path;
  return api;
}

}  // namespace

void require_known_version(const NcclVersion& version, const std::string& path) {
  if (version < kOldestNccl) {
    throw BackendError(
        fmt::format("NCCL {} ({}) is too old: tilewire needs its device API as of {}\n{}",
                    version.to_string(), path, kOldestNccl.to_string(), nccl_library().remedy));
  }
  if (version < kFirstUnknownNccl) return;
  throw BackendError(fmt::format("NCCL {} ({}) is newer than what this tilewire knows: {}\n{}",
                                 version.to_string(), path, known_nccl_versions(),
                                 nccl_library().remedy));
}

const Api& api() {
  static const Api* const loaded = load();
  return *loaded;
}

Result settled(Result result, Comm comm) {
  // PyTorch can make communicators whose calls return before they are done.
  while (result == kInProgress && comm != nullptr) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (api().comm_async_error(comm, &result) != kSuccess) break;
  }
  return result;
}

void check(Result result, std::string_view call, Comm comm) {
  result = settled(result, comm);
  if (result == kSuccess) [[likely]]
    return;
  Watchdog::get().raise_if_hung();
  const Api& nccl = api();
  const char* last = nccl.last_error(comm);
  throw BackendError(
      fmt::format("NCCL {} ({}): {} failed: {} ({}){}. NCCL_DEBUG=WARN makes NCCL say more",
                  nccl.version.to_string(), nccl.path, call, result, nccl.error_string(result),
                  last != nullptr && *last != '\0' ? fmt::format(": {}", last) : ""));
}

}  // namespace tilewire::nccl

#include "runtime/driver/cuda_api.h"

#include <fmt/format.h>

#include <string>

#include "compiler/support/error.h"
#include "compiler/support/shared_library.h"

namespace tilewire::cuda {
namespace {

constexpr const char* kRemedy =
    "a target sm_… needs an NVIDIA GPU and its driver; the CPU target needs neither "
    "(tw.init(virtual=\"2\") makes a world of 2 ranks on the CPU)";

SharedLibrary load_driver() {
  try {
    return load_library(cuda_driver_library());
  } catch (const BackendError& error) {
    throw BackendError(fmt::format("{}\n{}", error.message(), kRemedy));
  }
}

void initialise(const Api& api, const std::string& path) {
  const Result result = api.init(0);
  if (result == kSuccess) return;
  const char* name = "?";
  const char* text = "unknown error";
  api.error_name(result, &name);
  api.error_string(result, &text);
  throw BackendError(fmt::format("CUDA driver ({}): no usable GPU: cuInit failed: {} ({}): {}\n{}",
                                 path, result, name, text, kRemedy));
}

const Api* load() {
  const SharedLibrary library = load_driver();
  auto* api = new Api;  // as long as the process
#define TILEWIRE_LOAD(member, symbol, ...) \
  api->member = library.function<decltype(api->member)>(#symbol);
  TILEWIRE_CUDA_FUNCTIONS(TILEWIRE_LOAD)
#undef TILEWIRE_LOAD
#define TILEWIRE_LOAD(member, symbol, ...) \
  api->member = reinterpret_cast<decltype(api->member)>(library.find(#symbol));
  TILEWIRE_CUDA_OPTIONAL_FUNCTIONS(TILEWIRE_LOAD)
#undef TILEWIRE_LOAD
  initialise(*api, library.path().string());
  return api;
}

}  // namespace

const Api& api() {
  static const Api* const loaded = load();
  return *loaded;
}

}  // namespace tilewire::cuda

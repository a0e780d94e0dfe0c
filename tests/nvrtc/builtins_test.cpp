#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "compiler/jit/nvrtc.h"
#include "tests/catch.h"
#include "tests/nvrtc/require.h"

namespace tilewire {

TEST_CASE("NVRTC's builtins are those that lie beside it") {
  TILEWIRE_REQUIRE_NVRTC();
  const Nvrtc& nvrtc = Nvrtc::get();
  const std::string name = fmt::format("libnvrtc-builtins.so.{}", nvrtc.version());
  const std::filesystem::path beside = nvrtc.path().parent_path() / name;
  if (!std::filesystem::exists(beside)) {
    WARN("skipped: no " << beside.string());
    return;
  }
  // By its bare name, as NVRTC opens it, and without loading anything.
  void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(handle != nullptr);
  dlclose(handle);
}

}  // namespace tilewire

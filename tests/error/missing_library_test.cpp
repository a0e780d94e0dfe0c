#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/support/error.h"
#include "compiler/support/shared_library.h"
#include "tests/catch.h"
#include "tests/scratch.h"

using namespace tilewire;

namespace {

std::string message_of(const LibraryDescription& description) {
  try {
    load_library(description);
  } catch (const BackendError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

// The description is NVRTC's own but for the sonames, so that the test holds where NVRTC is there.
TEST_CASE("Without NVRTC the message lists every place looked in and what to do", "[error]") {
  const ScratchFolder scratch;
  const auto lib64 = scratch.path() / "cuda" / "lib64";
  std::filesystem::create_directories(lib64);
  std::ofstream(lib64 / "libnvrtc-absent.so.12") << "not a library";
  set_site_packages({scratch.path() / "site"});
  LibraryDescription description = nvrtc_library();
  description.sonames = {"libnvrtc-absent.so.13", "libnvrtc-absent.so.12"};
  description.home = scratch.path() / "cuda";
  const std::string message = message_of(description);
  set_site_packages({});
  INFO(message);
  const std::string root = scratch.path().string();
  CHECK(message.rfind("NVRTC not found (looked for libnvrtc-absent.so.13, "
                      "libnvrtc-absent.so.12)\n  this process: not loaded\n",
                      0) == 0);
  const auto has = [&message](const std::string& line) {
    return message.find("\n  " + line) != std::string::npos;
  };
  CHECK(has(root + "/site: wheels under nvidia/*/lib\n"));
  CHECK(has(root + "/cuda/lib64/libnvrtc-absent.so.12: "));  // there, but broken: the loader's word
  CHECK(has(root + "/cuda/lib: no such folder\n"));
  CHECK(has("the loader's path: libnvrtc-absent.so.12: cannot open shared object file"));
  CHECK(has("/usr/local/cuda/lib64: "));
  const std::string remedy =
      "\ninstall it with `pip install nvidia-cuda-nvrtc`, or name a CUDA 12 or 13 toolkit in "
      "TILEWIRE_CUDA_HOME";
  CHECK(message.size() > remedy.size());
  CHECK(message.substr(message.size() - remedy.size()) == remedy);
}

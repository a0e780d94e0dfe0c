#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "compiler/jit/nccl_headers.h"
#include "compiler/support/error.h"
#include "compiler/support/files.h"
#include "compiler/support/shared_library.h"
#include "tests/catch.h"
#include "tests/scratch.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// A wheel whose library says that it is `code` and whose headers say that they are 2.`minor`.9.
void place_wheel(const fs::path& site, int code, int minor) {
  const fs::path wheel = site / "nvidia" / "nccl";
  write(wheel / "include" / "nccl.h",
        fmt::format("#define NCCL_MAJOR 2\n#define NCCL_MINOR {}\n#define NCCL_PATCH 9\n", minor));
  write(wheel / "include" / "nccl_device.h", "\n");
  write(site / "nccl.cpp",
        fmt::format("extern \"C\" int ncclGetVersion(int* v) {{ *v = {}; return 0; }}\n", code));
  fs::create_directories(wheel / "lib");
  const std::string command = fmt::format(
      "c++ -shared -fPIC -Wl,-soname,libnccl.so.2 '{0}/nccl.cpp' -o "
      "'{0}/nvidia/nccl/lib/libnccl.so.2'",
      site.string());
  REQUIRE(std::system(command.c_str()) == 0);
}

/// What `NcclHeaders::find` says once the wheel's library is loaded: in a process of its own, since
/// a loaded library stays.
std::string message_with_wheel(const fs::path& site) {
  const fs::path answer = site / "answer";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string message;
    try {
      set_site_packages({site});
      load_library(nccl_library());
      const auto headers = NcclHeaders::find();
      message = "found " + headers->version().to_string();
    } catch (const Error& error) {
      message = error.what();
    }
    std::ofstream(answer) << message;
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return read_file(answer).value_or("no answer");
}

}  // namespace

TEST_CASE("Headers of another NCCL than the loaded one are refused with both paths", "[error]") {
  const ScratchFolder scratch;
  place_wheel(scratch.path(), 29703, 96);
  const std::string wheel = (scratch.path() / "nvidia" / "nccl").string();
  CHECK(message_with_wheel(scratch.path()) ==
        "NCCL's headers and library differ: headers 2.96.9 (" + wheel +
            "/include), library 2.97.3 (" + wheel +
            "/lib/libnccl.so.2)\nTheir structs differ too, so nothing was compiled. Name the "
            "folder that the library came from in TILEWIRE_NCCL_HOME, or install both from one "
            "package.");
}

TEST_CASE("Headers that belong to the loaded NCCL are taken", "[error]") {
  const ScratchFolder scratch;
  place_wheel(scratch.path(), 29709, 97);
  CHECK(message_with_wheel(scratch.path()) == "found 2.97.9");
}

TEST_CASE("An NCCL without what tilewire needs is refused with its version", "[error]") {
  const ScratchFolder scratch;
  place_wheel(scratch.path(), 22709, 27);
  const std::string message = message_with_wheel(scratch.path());
  CHECK(message.rfind("NCCL 2.27.9's headers (" + scratch.path().string() +
                          "/nvidia/nccl/include) are too old: 2.28.7 or newer is needed\n",
                      0) == 0);
}

TEST_CASE("NCCL's version numbers are read as NCCL writes them", "[error]") {
  CHECK(NcclVersion::from_code(22809) == NcclVersion{2, 28, 9});
  CHECK(NcclVersion::from_code(23007).to_string() == "2.30.7");
  CHECK(NcclVersion{2, 28, 6} < kOldestNccl);
}

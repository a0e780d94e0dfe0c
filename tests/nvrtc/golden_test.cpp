#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/nccl_releases.h"
#include "tests/nvrtc/require.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

std::vector<fs::path> goldens() {
  std::vector<fs::path> files;
  for (const auto& file : fs::directory_iterator(TILEWIRE_SOURCE_DIR "/tests/codegen/golden")) {
    if (file.path().extension() == ".cu") files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

TEST_CASE("Every golden compiles for every architecture", "[golden]") {
  TILEWIRE_REQUIRE_NVRTC();
  if (!nccl_headers_or_null()) return;
  const auto known = Nvrtc::get().architectures();
  const std::vector<std::pair<int, std::string>> architectures = {
      {80, "sm_80"}, {90, "sm_90a"}, {100, "sm_100a"}, {120, "sm_120"}};
  REQUIRE_FALSE(goldens().empty());
  for (const fs::path& file : goldens()) {
    const std::string source = read_file(file).value_or("");
    for (const auto& [capability, architecture] : architectures) {
      INFO(file.filename().string() << " for " << architecture);
      if (std::count(known.begin(), known.end(), capability) == 0) {
        WARN("skipped: NVRTC " << Nvrtc::get().version() << " doesn't know " << architecture);
        continue;
      }
      const auto result =
          CudaJob::of(source, file.filename().string(), architecture, form_of(source)).compile();
      INFO(result.log);
      // An attribute that is ignored changes a layout, and NVRTC only warns of it.
      CHECK(result.log.find("attribute") == std::string::npos);
      CHECK(result.cubin.size() > 1000);
    }
  }
}

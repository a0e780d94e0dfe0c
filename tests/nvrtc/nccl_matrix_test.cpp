#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/jit/nccl_layout.h"
#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/nccl_releases.h"
#include "tests/nvrtc/require.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

constexpr std::array<const char*, 3> kArchitectures = {"sm_80", "sm_90a", "sm_100a"};

/// Goldens that include NCCL's headers: the others don't depend on its version.
std::vector<fs::path> goldens() {
  std::vector<fs::path> files;
  for (const auto& file :
       fs::recursive_directory_iterator(TILEWIRE_SOURCE_DIR "/tests/codegen/golden")) {
    if (file.path().extension() != ".cu") continue;
    const auto text = read_file(file.path()).value_or("");
    if (text.find("<nccl_device.h>") != std::string::npos) files.push_back(file.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// `architecture`, or, where a golden's text isn't one for it, that which the golden was made for.
std::string suitable(const std::string& source, const std::string& architecture) {
  if (source.find(" sm_100a:") != std::string::npos) return "sm_100a";
  if (source.find("tilewire/roles.cuh") != std::string::npos) return "sm_90a";  // Hopper's roles
  const bool is_old = architecture == "sm_80" && source.find("multimem=1") != std::string::npos;
  return is_old ? "sm_90a" : architecture;
}

void compile(const NcclHeaders& headers, const std::string& source, const std::string& name,
             const std::string& architecture) {
  INFO(name << " for " << architecture);
  const auto result = CudaJob::of(source, name, architecture, form_of(source), headers).compile();
  INFO(result.log);
  // An attribute that NVRTC ignores changes a struct's layout; it only warns of it.
  CHECK(result.log.find("warning") == std::string::npos);
  CHECK(result.cubin.size() > 1000);
}

}  // namespace

TEST_CASE("Goldens compile with the headers of every minor version of NCCL", "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto files = goldens();
  CHECK(files.size() >= 20);  // kernels with multimem, or over the network
  // Each golden meets each release once, and over the releases each architecture.
  std::size_t turn = 0;
  for_each_nccl_release([&](const NcclHeaders& headers) {
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string source = read_file(files[i]).value_or("");
      if (!headers.has_network_get() && source.find("network.get<") != std::string::npos) continue;
      const std::string turns = kArchitectures[(i + turn) % kArchitectures.size()];
      compile(headers, source, files[i].filename().string(), suitable(source, turns));
    }
    ++turn;
  });
}

TEST_CASE("What stands on NCCL's headers compiles for every version and architecture",
          "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  for_each_nccl_release([](const NcclHeaders& headers) {
    for (const char* architecture : kArchitectures) {
      for (const char* name : {"lsa.cu", "multimem.cu"}) {
        compile(headers, probe_text(name), name, architecture);
      }
    }
  });
}

namespace {

// ncclNetDeviceType
constexpr unsigned kProxy = 1u << 2;
constexpr unsigned kGdaki = 1u << 3;
constexpr unsigned kGpi = 1u << 4;

/// Those that the headers of this release are known to have.
unsigned back_ends(const NcclHeaders& headers) {
  const bool doca = headers.version() >= NcclVersion{2, 28, 9};
  const bool gpi = headers.version() >= NcclVersion{2, 30, 7};
  return kProxy | (doca ? kGdaki : 0) | (gpi ? kGpi : 0);
}

/// The network's probe with these back ends only.
std::string gin_probe(unsigned mask) {
  std::string text;
  for (const auto& [bit, name] : {std::pair(kProxy, "PROXY"), {kGdaki, "GDAKI"}, {kGpi, "GPI"}}) {
    if ((mask & bit) == 0) text += fmt::format("#define NCCL_GIN_{}_ENABLE 0\n", name);
  }
  return text + probe_text("gin.cu");
}

}  // namespace

TEST_CASE("The network compiles by each back end that the headers have", "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  for_each_nccl_release([](const NcclHeaders& headers) {
    const std::vector<std::string> question = {"NCCL_GIN_BACKEND_MASK_ALL"};
    const auto mask = static_cast<unsigned>(probe_nccl(headers, NcclForm::kFull, question).at(0));
    CHECK(mask == back_ends(headers));
    for (const unsigned one : {kProxy, kGdaki, kGpi}) {
      if ((mask & one) != 0) compile(headers, gin_probe(one), "gin.cu", "sm_90a");
    }
    for (const char* architecture : kArchitectures) {
      compile(headers, gin_probe(mask), "gin.cu", architecture);
    }
  });
}

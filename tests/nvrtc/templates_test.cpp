#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "compiler/jit/cuda_compiler.h"
#include "tests/catch.h"
#include "tests/nvrtc/require.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

/// A kernel that includes every template but those whose names begin so, in this order or the other
/// one: any program may need any of them.
std::string source_with_all(const std::vector<std::string>& left_out, bool is_reversed) {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(TILEWIRE_SOURCE_DIR "/templates/tilewire")) {
    const std::string name = file.path().filename().string();
    const bool is_left_out = std::ranges::any_of(
        left_out, [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (file.path().extension() == ".cuh" && !is_left_out) names.push_back(name);
  }
  std::ranges::sort(names);
  if (is_reversed) std::ranges::reverse(names);
  REQUIRE(names.size() > 50);
  std::string source = "#define TILEWIRE_CONSUMERS 256\n#define TILEWIRE_FEW_REGISTERS\n";
  for (const std::string& name : names) source += "#include \"tilewire/" + name + "\"\n";
  return source + "extern \"C\" __global__ void all() {}\n";
}

}  // namespace

TEST_CASE("All templates stand beside each other", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  if (!nccl_headers_or_null()) return;
  const auto known = Nvrtc::get().architectures();
  for (const auto& [capability, architecture] :
       {std::pair(80, "sm_80"), {90, "sm_90a"}, {100, "sm_100a"}}) {
    if (std::ranges::count(known, capability) == 0) continue;
    for (const bool is_reversed : {false, true}) {
      INFO(architecture << (is_reversed ? ", from the last one on" : ""));
      const auto log_of = [&](const std::vector<std::string>& left_out, NcclForm form) {
        const std::string source = source_with_all(left_out, is_reversed);
        return CudaJob::of(source, "all.cu", architecture, form).compile().log;
      };
      CHECK(log_of({"network", "virtual_network"}, NcclForm::kSlim) == "");
      CHECK(log_of({"virtual_network"}, NcclForm::kFull) == "");
    }
  }
}

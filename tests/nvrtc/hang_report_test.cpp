#include <fmt/format.h>

#include <cstddef>
#include <string>

#include "compiler/jit/cuda_compiler.h"
#include "templates/tilewire/abi.cuh"
#include "tests/catch.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

/// Else a process with two kernels would be told a line of the wrong one.
TEST_CASE("Reports of waits count the sites of the process, not of the kernel") {
  TILEWIRE_REQUIRE_NVRTC();
  const std::string source =
      "#include \"tilewire/hang.cuh\"\nnamespace tw = tilewire::device;\n"
      "extern \"C\" __global__ void kernel(const __grid_constant__ tw::Lane lane, uint32_t site) "
      "{\n"
      "  tw::write_report(lane, {0, 0, site, 0, 0}, 0, false);\n}\n";
  const NvrtcResult result = CudaJob::of(source, "report.cu", "sm_90a", NcclForm::kSlim).compile();
  INFO(result.ptx);
  constexpr std::size_t kPage = offsetof(device::Lane, hang);
  constexpr std::size_t kBase = offsetof(device::Lane, site_base);
  const auto has = [&](const std::string& text) {
    return result.ptx.find(text) != std::string::npos;
  };
  CHECK(has(fmt::format("[kernel_param_0+{}]", kPage)));
  // From the parameter's start, or from where the page's address stands.
  CHECK(
      (has(fmt::format("[kernel_param_0+{}]", kBase)) || has(fmt::format("+-{}]", kPage - kBase))));
}

// What the network needs beside the goldens: reads from peers, and the runtime's own kernel.
#include "compiler/jit/cuda_compiler.h"
#include "runtime/nccl/signal_reset.h"
#include "tests/catch.h"
#include "tests/nvrtc/nccl_releases.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

namespace {

NvrtcResult compile(const NcclHeaders& headers, const std::string& source) {
  return CudaJob::of(source, "network.cu", "sm_90a", NcclForm::kFull, headers).compile();
}

}  // namespace

TEST_CASE("Reads from peers compile where NCCL has them, and are the program's error elsewhere",
          "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  const SourceLocation location{"get.py", 7, 5};
  for_each_nccl_release([&](const NcclHeaders& headers) {
    const bool has_get = headers.version() >= NcclVersion{2, 30, 0};
    CHECK(headers.has_network_get() == has_get);
    if (has_get) {
      CHECK_NOTHROW(require_network_get(headers, location));
      CHECK(compile(headers, probe_text("network_get.cu")).cubin.size() > 1000);
    } else {
      CHECK_THROWS_WITH(
          require_network_get(headers, location),
          test::contains("get: NCCL " + headers.version().to_string()) &&
              test::contains("reads no other rank's memory over the network, which NCCL 2.30 is "
                             "the first to do: have that rank `put` it, or use a newer NCCL"));
      CHECK_THROWS_AS(compile(headers, probe_text("network_get.cu")), BackendError);
    }
  });
}

TEST_CASE("The kernel that sets signals to 0 compiles for every version", "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  for_each_nccl_release([](const NcclHeaders& headers) {
    CHECK(compile(headers, signal_reset_source()).cubin.size() > 1000);
  });
}

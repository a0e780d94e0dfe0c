// What the network needs beside the goldens: reads from peers, the runtime's own kernel, and what
// stands in for NCCL's between virtual ranks.
#include <fmt/format.h>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/files.h"
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

TEST_CASE("What uses the network compiles for virtual ranks, without NCCL", "[network]") {
  TILEWIRE_REQUIRE_NVRTC();
  std::vector<std::string> texts = {signal_reset_source(), probe_text("network_get.cu")};
  for (const char* name : {"network_puts_2x4", "network_channels_2x4", "network_grid_2x4"}) {
    const auto path = fmt::format(TILEWIRE_SOURCE_DIR "/tests/codegen/golden/{}.cu", name);
    texts.push_back(read_file(path).value_or(""));
  }
  for (const std::string& text : texts) {
    REQUIRE(form_of(text) == NcclForm::kFull);
    const CudaJob job = CudaJob::of(text, "virtual.cu", "sm_90a", NcclForm::kVirtual);
    for (const Header& header : job.headers) {
      CHECK(header.text.find("NVIDIA CORPORATION") == std::string::npos);
    }
    CHECK(job.compile().cubin.size() > 1000);
  }
}

#include <regex>
#include <string>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

TEST_CASE("A product of 128 x 256 and its epilogue fit the consumers' registers", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto source =
      read_file(TILEWIRE_SOURCE_DIR "/tests/codegen/golden/ops/staged_bias_and_gelu.cu");
  REQUIRE(source);
  REQUIRE(source->find("tw::Fragment<128, 256, kThreads>") != std::string::npos);
  CudaJob job = CudaJob::of(*source, "staged_bias_and_gelu.cu", "sm_90a", NcclForm::kSlim);
  job.options.emplace_back("--ptxas-options=-v");
  const std::string log = job.compile().log;
  INFO(log);
  CHECK(std::regex_search(log, std::regex("\\b0 bytes spill stores")));
  CHECK(!std::regex_search(log, std::regex("[1-9]\\d* bytes spill")));
}

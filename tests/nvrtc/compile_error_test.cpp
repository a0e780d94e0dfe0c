#include <algorithm>
#include <filesystem>
#include <string>

#include "compiler/jit/compile.h"
#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/error.h"
#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/error/message.h"
#include "tests/nvrtc/programs.h"
#include "tests/nvrtc/require.h"

namespace fs = std::filesystem;
using namespace tilewire;

TEST_CASE("What doesn't compile is reported with log, options and saved source", "[error]") {
  TILEWIRE_REQUIRE_NVRTC();
  const std::string source = "extern \"C\" __global__ void kernel() { nonsense(); }\n";
  const CudaJob job = CudaJob::of(source, "broken.cu", "sm_90a", NcclForm::kSlim);
  const std::string message = message_of<BackendError>([&] { compile_cuda(job); });
  INFO(message);
  CHECK(message.rfind("NVRTC " + Nvrtc::get().version() + " (" + Nvrtc::get().path().string() +
                          "): nvrtcCompileProgram failed with code 6: NVRTC_ERROR_COMPILATION\n"
                          "options: --gpu-architecture=sm_90a --std=c++17 -default-device",
                      0) == 0);
  CHECK(message.find("broken.cu(1): error: identifier \"nonsense\" is undefined") !=
        std::string::npos);
  const auto begin = message.find("\nsource: ") + 9;
  const fs::path saved = message.substr(begin, message.find('\n', begin) - begin);
  CHECK(read_file(saved) == source);
  // A failure is never cached: the second attempt fails like the first.
  CHECK_THROWS_AS(compile_cuda(job), BackendError);
}

TEST_CASE("A header that nobody has is named by the compiler", "[error]") {
  TILEWIRE_REQUIRE_NVRTC();
  const CudaJob job = CudaJob::of("#include <no/such.h>\n", "broken.cu", "sm_90a", NcclForm::kSlim);
  const std::string message = message_of<BackendError>([&] { job.compile(); });
  INFO(message);
  CHECK(message.find("could not open source file \"no/such.h\"") != std::string::npos);
}

TEST_CASE("A stage that the target hasn't got is refused with those that it has", "[error]") {
  const Target target = gpu_target();
  const std::string message = message_of<UserError>(
      [&] { emit_stage(allreduce_rmsnorm(target, DType::kBF16, 64), target, "llvm"); });
  CHECK(message ==
        "stage 'llvm': target " + target.to_string() + " has ir, lowered, cuda, ptx, cubin");
}

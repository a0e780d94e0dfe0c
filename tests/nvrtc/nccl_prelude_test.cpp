#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/files.h"
#include "compiler/support/shared_library.h"
#include "tests/catch.h"
#include "tests/nvrtc/cubin.h"
#include "tests/nvrtc/nccl_releases.h"
#include "tests/nvrtc/require.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

/// The folder of libcu++'s `cuda/atomic`, beside NVRTC or in the toolkit; empty where there is
/// none.
fs::path libcupp_folder() {
  std::vector<fs::path> roots = {Nvrtc::get().path().parent_path().parent_path()};
  for (const fs::path& folder : library_folders(nvrtc_library())) {
    roots.push_back(folder.parent_path());
  }
  roots.emplace_back("/usr/local/cuda");
  for (const fs::path& root : roots) {
    for (const char* below : {"include/cccl", "include"}) {
      if (fs::is_regular_file(root / below / "cuda/atomic")) return root / below;
    }
  }
  return {};
}

/// The stand-in of the host's headers with libcu++'s own integers, limits and atomics.
std::string with_libcupp(const std::string& standard) {
  const std::size_t begin = standard.find("using int8_t");
  const std::size_t end = standard.find("// linux/types.h");
  REQUIRE(end != std::string::npos);
  REQUIRE(begin < end);
  return standard.substr(0, begin) +
         "#include <cuda/std/cstddef>\n#include <cuda/std/cstdint>\n#include <cuda/std/climits>\n"
         "#include <cuda/atomic>\n\n" +
         standard.substr(end);
}

/// The same text with libcu++ and CUDA's types in the place of the stand-ins.
CudaJob with_libcupp(CudaJob job, const fs::path& folder) {
  std::erase_if(job.headers, [](const Header& header) {
    static const std::set<std::string> left_to_cuda = {"cuda/atomic", "cuda/std/atomic",
                                                       "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"};
    return left_to_cuda.count(header.name) > 0;
  });
  for (Header& header : job.headers) {
    if (header.name == "tilewire/nvrtc/standard.cuh") header.text = with_libcupp(header.text);
  }
  job.options.push_back("--include-path=" + folder.string());
  job.options.push_back("--include-path=" + folder.parent_path().string());
  job.options.emplace_back("-D_CCCL_META_UNROLL_LIMIT=10");  // nvcc's value; NVRTC's is slower
  return job;
}

std::string code_of(const CudaJob& job, const std::string& kernel) {
  INFO(job.name);
  const std::string code = machine_code(job.compile().cubin, kernel);
  CHECK(code.size() > 100);
  return code;
}

}  // namespace

TEST_CASE("The stand-in of <cuda/atomic> gives libcu++'s machine code, slim and full",
          "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  const fs::path libcupp = libcupp_folder();
  if (libcupp.empty()) {
    WARN(
        "skipped: no libcu++ (cuda/atomic) beside NVRTC or in /usr/local/cuda: the wheel "
        "nvidia-cuda-cccl has it");
    return;
  }
  const std::string golden =
      read_file(TILEWIRE_SOURCE_DIR "/tests/codegen/golden/allreduce_rmsnorm_2.cu").value_or("");
  for_each_nccl_release([&](const NcclHeaders& headers) {
    const auto job = [&](const std::string& text, NcclForm form) {
      return CudaJob::of(text, "prelude.cu", "sm_90a", form, headers);
    };
    for (const auto& [text, kernel] :
         {std::pair(probe_text("lsa.cu"), "kernel"), {golden, "allreduce_rmsnorm_kernel"}}) {
      const std::string slim = code_of(job(text, NcclForm::kSlim), kernel);
      CHECK(slim == code_of(job(text, NcclForm::kFull), kernel));
      CHECK(slim == code_of(with_libcupp(job(text, NcclForm::kFull), libcupp), kernel));
    }
    const std::string network = probe_text("gin.cu");
    CHECK(code_of(job(network, NcclForm::kFull), "kernel") ==
          code_of(with_libcupp(job(network, NcclForm::kFull), libcupp), "kernel"));
  });
}

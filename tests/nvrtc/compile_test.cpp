#include "compiler/jit/compile.h"

#include <algorithm>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/programs.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

namespace {

bool knows(const Target& target) {
  const auto known = Nvrtc::get().architectures();
  if (std::count(known.begin(), known.end(), target.compute_capability) > 0) return true;
  WARN("skipped: NVRTC " << Nvrtc::get().version() << " doesn't know " << target.architecture);
  return false;
}

CudaJob job_of(const Target& target, NcclForm form) {
  return CudaJob::of(emit_stage(allreduce_rmsnorm(target, DType::kBF16, 8192), target, "cuda"),
                     "allreduce_rmsnorm.cu", target.architecture, form);
}

/// The kernel in PTX, without the constants that the headers around it leave there.
std::string kernel_in(const std::string& ptx) { return ptx.substr(ptx.find(".visible .entry")); }

/// The largest number that stands before `what` in ptxas's report.
int largest(const std::string& log, const std::string& what) {
  const std::regex pattern("(\\d+) " + what);
  int result = -1;
  for (std::sregex_iterator it(log.begin(), log.end(), pattern), end; it != end; ++it) {
    result = std::max(result, std::stoi((*it)[1]));
  }
  return result;
}

}  // namespace

TEST_CASE("A program that communicates compiles for every architecture", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100a", "sm_120"}) {
    const Target target = gpu_target(architecture);
    INFO(architecture);
    if (!knows(target)) continue;
    CudaJob job = job_of(target, NcclForm::kSlim);
    job.options.emplace_back("--ptxas-options=-v");
    const NvrtcResult result = job.compile();
    INFO(result.log);
    CHECK(result.cubin.substr(0, 4) ==
          "\x7f"
          "ELF");
    CHECK(result.log.find("warning") == std::string::npos);
    // ptxas puts a few bytes of the barrier's slow path aside though registers are left.
    CHECK(largest(result.log, "bytes spill stores") <= 16);
    // 1024 threads have 64 registers each.
    CHECK(largest(result.log, "registers") <= 64);
    CHECK(largest(result.log, "registers") > 0);
  }
}

TEST_CASE("Tiles move in 16-byte vectors, and never through the read-only path", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  const Target target = gpu_target();
  const std::string ptx = emit_stage(allreduce_rmsnorm(target, DType::kBF16, 8192), target, "ptx");
  const auto count = [&ptx](const char* pattern) {
    const std::regex regex(pattern);
    return std::distance(std::sregex_iterator(ptx.begin(), ptx.end(), regex),
                         std::sregex_iterator());
  };
  // Two vectors per thread of each of two ranks' rows and of gain; two are stored.
  CHECK(count(R"(ld(\.global)?\.v4\.[bu]32)") == 6);
  CHECK(count(R"(st(\.global)?\.v4\.[bu]32)") == 2);
  CHECK(count(R"(\.nc\.v4)") == 0);
  // Each of two barriers releases: by a fence in front of its stores, or by the stores.
  CHECK(count(R"(fence\.(acq_rel|sc)\.sys|membar\.sys|st\.release\.sys)") >= 2);
  CHECK(count(R"(ld\.acquire\.sys)") >= 1);
}

TEST_CASE("Slim and full headers give the same code", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto headers = nccl_headers_or_null();
  if (!headers) return;
  const std::string barrier = R"(#include <nccl_device.h>
extern "C" __global__ void kernel(ncclDevComm comm, ncclWindow_t window, float* y) {
  ncclLsaBarrierSession<ncclCoopCta> barrier(ncclCoopCta(), comm, ncclTeamTagLsa(), blockIdx.x);
  barrier.sync(ncclCoopCta(), cuda::memory_order_acq_rel);
  float sum = 0;
  for (int rank = 0; rank < comm.lsaSize; ++rank) {
    sum += static_cast<float*>(ncclGetLsaPointer(window, 0, rank))[threadIdx.x];
  }
  y[threadIdx.x] = sum;
  barrier.sync(ncclCoopCta(), cuda::memory_order_relaxed);
}
)";
  const auto compile_as = [&](NcclForm form) {
    return CudaJob::of(barrier, "barrier.cu", "sm_90a", form, *headers).compile();
  };
  CHECK(kernel_in(compile_as(NcclForm::kSlim).ptx) == kernel_in(compile_as(NcclForm::kFull).ptx));
}

TEST_CASE("The network's device API compiles", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto headers = nccl_headers_or_null();
  if (!headers) return;
  const std::string network = R"(#include <nccl_device.h>
extern "C" __global__ void kernel(ncclDevComm comm, ncclWindow_t from, ncclWindow_t to, size_t n) {
  ncclGin gin(comm, 0);
  gin.put(ncclTeamWorld(comm), 1, to, 0, from, 0, n, ncclGin_SignalInc{0});
  gin.putValue(ncclTeamWorld(comm), 1, to, 0, n, ncclGin_SignalAdd{0, 2});
  gin.waitSignal(ncclCoopCta(), 0, 3);
  gin.flush(ncclCoopCta());
}
)";
  for (const char* architecture : {"sm_80", "sm_90a"}) {
    const auto result =
        CudaJob::of(network, "network.cu", architecture, NcclForm::kFull, *headers).compile();
    // An attribute that NVRTC ignores would change a struct's layout; it only warns of it.
    CHECK(result.log.find("warning") == std::string::npos);
    CHECK(result.cubin.size() > 1000);
  }
}

TEST_CASE("A program of loads and stores needs nothing of NCCL", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  const int num_ranks = GENERATE(1, 2);
  const Target target = gpu_target("sm_90a", num_ranks);
  const CudaJob job = job_of(target, NcclForm::kSlim);
  CHECK(job.source.find("nccl") == std::string::npos);
  for (const Header& header : job.headers) {
    INFO(header.name);
    CHECK(header.name.find("nccl") == std::string::npos);
  }
  CHECK(job.compile().cubin.size() > 1000);
}

TEST_CASE("compile tells where the binary came from and keeps it on disk", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  const Target target = gpu_target();
  CompileReport first;
  const Artifact made = compile(allreduce_rmsnorm(target, DType::kF16, 5120), target, &first);
  CHECK_FALSE(first.from_memory);
  CHECK_FALSE(first.from_disk);
  CHECK(first.compile_ms > 0.0);
  CHECK(first.key.size() == 64);
  CHECK(read_file(first.source_path) == made.source);
  CHECK(made.resources.lane);
  CHECK(made.launch.num_threads > 0);

  CompileReport second;
  const Artifact again = compile(allreduce_rmsnorm(target, DType::kF16, 5120), target, &second);
  CHECK(second.from_memory);
  CHECK(second.key == first.key);
  CHECK(again.binary == made.binary);

  const auto entry = disk_cache().load(first.key, kCubinFormat);
  REQUIRE(entry);
  CHECK(entry->binary == made.binary);
  CHECK(entry->source == made.source);
  const Artifact described = artifact_from_json(entry->description);
  CHECK(described.kernel == "allreduce_rmsnorm");
  CHECK(described.arguments == made.arguments);

  CompileReport other;
  compile(allreduce_rmsnorm(target, DType::kF16, 4096), target, &other);
  CHECK(other.key != first.key);
}

TEST_CASE("Threads compile side by side", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  if (!nccl_headers_or_null()) return;
  const Target target = gpu_target();
  std::vector<std::string> binaries(6);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < binaries.size(); ++i) {
    threads.emplace_back([&, i] {
      // Two threads for each of three programs.
      const auto h = static_cast<std::int64_t>(1024 * (1 + i % 3));
      binaries[i] = compile(allreduce_rmsnorm(target, DType::kBF16, h), target).binary;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(binaries[i].size() > 1000);
    CHECK(binaries[i] == binaries[i + 3]);
    CHECK(binaries[i] != binaries[(i + 1) % 3]);
  }
}

TEST_CASE("The key holds the text, the options and every header, and nothing else", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto key_of = [](const CudaJob& job) {
    CacheKey key;
    job.add_to(key);
    return key.hex();
  };
  const CudaJob job = job_of(gpu_target("sm_90a", 1), NcclForm::kSlim);
  REQUIRE_FALSE(job.headers.empty());
  const std::string key = key_of(job);
  CHECK(key_of(job_of(gpu_target("sm_90a", 1), NcclForm::kSlim)) == key);
  CudaJob changed = job;
  changed.source += " ";
  CHECK(key_of(changed) != key);
  changed = job;
  changed.headers.back().text += " ";
  CHECK(key_of(changed) != key);
  changed = job;
  changed.headers.back().name += "x";
  CHECK(key_of(changed) != key);
  changed = job;
  changed.options.emplace_back("--fmad=false");
  CHECK(key_of(changed) != key);
  changed = job;
  changed.name = "another.cu";
  CHECK(key_of(changed) == key);
}

TEST_CASE("Warming NVRTC up says whether it could", "[compile]") {
  TILEWIRE_REQUIRE_NVRTC();
  CHECK(warm_up_nvrtc("sm_90a"));
  CHECK_FALSE(warm_up_nvrtc("sm_1"));
}

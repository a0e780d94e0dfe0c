#include "compiler/jit/nccl_layout.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/require.h"
#include "tests/scratch.h"

namespace fs = std::filesystem;
using namespace tilewire;

namespace {

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// What the host's compiler says of the same expressions over the same, unchanged headers. The
/// CUDA headers that they include are replaced by the few names that they need of them.
std::vector<std::uint64_t> ask_host_compiler(const NcclHeaders& headers,
                                             const std::vector<std::string>& includes,
                                             const std::vector<std::string>& expressions) {
  const ScratchFolder scratch;
  write(scratch.path() / "cuda.h",
        "#pragma once\n#define CUDA_VERSION 13000\ntypedef unsigned long long CUdeviceptr;\n"
        "enum CUmemLocationType { CU_MEM_LOCATION_TYPE_INVALID, CU_MEM_LOCATION_TYPE_MAX = "
        "0x7fffffff };\n");
  write(scratch.path() / "cuda_runtime.h",
        "#pragma once\n#include <stddef.h>\n#define CUDART_VERSION 13000\n"
        "typedef struct CUstream_st* cudaStream_t;\ntypedef struct CUevent_st* cudaEvent_t;\n");
  for (const char* name : {"cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h"}) {
    write(scratch.path() / name, "#pragma once\n");
  }
  std::string program = "#include <cstddef>\n#include <cstdio>\n";
  for (const std::string& include : includes) program += "#include \"" + include + "\"\n";
  program += "int main() {\n";
  for (const std::string& expression : expressions) {
    program += "  std::printf(\"%zu\\n\", static_cast<std::size_t>(" + expression + "));\n";
  }
  write(scratch.path() / "probe.cpp", program + "}\n");
  const std::string command = fmt::format(
      "cd '{}' && c++ -std=c++17 -w -isystem . -isystem '{}' probe.cpp -o probe && ./probe > "
      "answers",
      scratch.path().string(), headers.folder().string());
  REQUIRE(std::system(command.c_str()) == 0);
  std::ifstream answers(scratch.path() / "answers");
  std::vector<std::uint64_t> values;
  for (std::uint64_t value = 0; answers >> value;) values.push_back(value);
  return values;
}

std::string offset(const std::string& type, const std::string& field) {
  return "offsetof(" + type + ", " + field + ")";
}

void check_all(const std::vector<std::string>& expressions, const std::vector<std::uint64_t>& ours,
               const std::vector<std::uint64_t>& host) {
  REQUIRE(ours.size() == expressions.size());
  REQUIRE(host.size() == expressions.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    INFO(expressions[i]);
    CHECK(ours[i] == host[i]);
  }
}

}  // namespace

TEST_CASE("NCCL's structs have the host compiler's layout, slim and full alike", "[nccl]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto headers = nccl_headers_or_null();
  if (!headers) return;
  const std::vector<std::string> expressions = {
      "sizeof(ncclDevComm)",
      "alignof(ncclDevComm)",
      offset("ncclDevComm", "rank"),
      offset("ncclDevComm", "nRanks"),
      offset("ncclDevComm", "nRanks_rcp32"),
      offset("ncclDevComm", "lsaRank"),
      offset("ncclDevComm", "lsaSize"),
      offset("ncclDevComm", "windowTable"),
      offset("ncclDevComm", "resourceWindow"),
      offset("ncclDevComm", "resourceWindow_inlined"),
      offset("ncclDevComm", "lsaMultimem"),
      offset("ncclDevComm", "lsaBarrier"),
      offset("ncclDevComm", "railGinBarrier"),
      offset("ncclDevComm", "ginHandles"),
      offset("ncclDevComm", "ginSignalCount"),
      offset("ncclDevComm", "ginCounterCount"),
      offset("ncclDevComm", "ginSignalShadows"),
      "sizeof(ncclWindow_vidmem)",
      offset("ncclWindow_vidmem", "winHost"),
      offset("ncclWindow_vidmem", "lsaFlatBase"),
      offset("ncclWindow_vidmem", "lsaRank"),
      offset("ncclWindow_vidmem", "worldRank"),
      offset("ncclWindow_vidmem", "stride4G"),
      offset("ncclWindow_vidmem", "mcOffset4K"),
      offset("ncclWindow_vidmem", "ginOffset4K"),
      "sizeof(ncclTeam)",
  };
  const auto host =
      ask_host_compiler(*headers, {"nccl.h", "nccl_device/impl/comm__types.h"}, expressions);
  check_all(expressions, probe_nccl(*headers, NcclForm::kSlim, expressions), host);
  check_all(expressions, probe_nccl(*headers, NcclForm::kFull, expressions), host);

  const NcclLayout layout = nccl_layout(*headers, NcclForm::kSlim);
  CHECK(layout == nccl_layout(*headers, NcclForm::kFull));
  CHECK(layout.version == headers->version());
  CHECK(layout.device_comm_bytes == host[0]);
  CHECK(layout.rank == host[2]);
  CHECK(layout.window_stride_4g == host[22]);
  const std::vector<std::string> requirements = {"sizeof(ncclDevCommRequirements)"};
  const bool has_host = fs::exists(headers->folder() / "nccl_device/host.h");
  CHECK(layout.requirements.size() ==
        ask_host_compiler(*headers,
                          {"nccl.h", has_host ? "nccl_device/host.h" : "nccl_device/core.h"},
                          requirements)
            .at(0));
}

namespace {

/// Sizes and alignments of those of the types that a header defines.
std::vector<std::string> sizes_of(const std::string& header,
                                  const std::vector<std::string>& types) {
  std::vector<std::string> expressions;
  for (const std::string& type : types) {
    if (header.find("struct " + type + " {") == std::string::npos) continue;
    expressions.push_back("sizeof(struct " + type + ")");
    expressions.push_back("alignof(struct " + type + ")");
  }
  return expressions;
}

}  // namespace

TEST_CASE("The proxy's packed structs have the host compiler's layout", "[nccl]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto headers = nccl_headers_or_null();
  if (!headers) return;
  std::vector<std::string> expressions = {
      "sizeof(ncclGinProxyQword_t)",
      "alignof(ncclGinProxyQword_t)",
      "sizeof(ncclGinProxyQword_t::inlineLow)",
      "sizeof(ncclGinProxyQword_t::completion)",
      "sizeof(ncclGinProxyQword_t::signalVal)",
      offset("ncclGinProxyQword_t", "inlineLow.inlineValLow"),
      offset("ncclGinProxyQword_t", "inlineLow.inlineValLow2"),
      "sizeof(ncclGinProxyGfd_t)",
      "alignof(ncclGinProxyGfd_t)",
      "sizeof(ncclGinProxyGpuCtx_t)",
      offset("ncclGinProxyGpuCtx_t", "queues"),
      offset("ncclGinProxyGpuCtx_t", "signals"),
  };
  if (headers->version() < NcclVersion{2, 29, 0}) {  // later ones are bit fields
    for (const char* field :
         {"inlineHigh.inlineValHigh", "inlineHigh.resv2", "completion.counterId",
          "completion.signalId", "completion.signalValLow", "signalVal.signalValLow2",
          "signalVal.signalValHigh"}) {
      expressions.push_back(offset("ncclGinProxyQword_t", field));
    }
  }
  check_all(expressions, probe_nccl(*headers, NcclForm::kFull, expressions),
            ask_host_compiler(*headers, {"nccl_device/gin/proxy/gin_proxy_device_host_common.h"},
                              expressions));
}

TEST_CASE("The network card's queue structs have the host compiler's layout", "[nccl]") {
  TILEWIRE_REQUIRE_NVRTC();
  const auto headers = nccl_headers_or_null();
  if (!headers) return;
  const std::string folder = "nccl_device/gin/gdaki/doca_gpunetio/common/doca_gpunetio_verbs_";
  const auto text = read_file(headers->folder() / (folder + "dev.h"));
  const auto definitions = read_file(headers->folder() / (folder + "def.h"));
  if (!text || !definitions) {
    WARN("skipped: these headers lack DOCA's (" << headers->folder() << ")");
    return;
  }
  auto expressions =
      sizes_of(*text + *definitions,
               {"doca_gpu_dev_verbs_wqe", "doca_gpu_dev_verbs_wqe_ctrl_seg",
                "doca_gpu_dev_verbs_wqe_wait_seg", "doca_gpunetio_ib_mlx5_wqe_data_seg",
                "doca_gpunetio_ib_mlx5_wqe_ctrl_seg", "doca_gpunetio_ib_mlx5_wqe_raddr_seg",
                "doca_gpunetio_ib_mlx5_wqe_atomic_seg", "doca_gpunetio_ib_mlx5_wqe_wait_seg",
                "doca_gpu_dev_verbs_cq", "doca_gpu_dev_verbs_qp"});
  CHECK(expressions.size() >= 14);
  expressions.push_back(offset("doca_gpunetio_ib_mlx5_wqe_ctrl_seg", "dci_stream_channel_id"));
  expressions.push_back(offset("doca_gpunetio_ib_mlx5_wqe_ctrl_seg", "imm"));
  expressions.push_back(offset("doca_gpu_dev_verbs_qp", "cq_sq"));
  check_all(expressions, probe_nccl(*headers, NcclForm::kFull, expressions),
            ask_host_compiler(*headers, {folder + "dev.h"}, expressions));
}

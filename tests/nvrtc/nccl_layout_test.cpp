#include "compiler/jit/nccl_layout.h"

#include <string>
#include <vector>

#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/host_compiler.h"
#include "tests/nvrtc/nccl_releases.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

namespace {

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

/// Structs that kernels see and that the host fills in, slim and full alike.
void check_communicator_structs(const NcclHeaders& headers) {
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
      ask_host_compiler(headers, {"nccl.h", "nccl_device/impl/comm__types.h"}, expressions);
  check_all(expressions, probe_nccl(headers, NcclForm::kSlim, expressions), host);
  check_all(expressions, probe_nccl(headers, NcclForm::kFull, expressions), host);

  const NcclLayout layout = nccl_layout(headers, NcclForm::kSlim);
  CHECK(layout == nccl_layout(headers, NcclForm::kFull));
  CHECK(layout.version == headers.version());
  CHECK(layout.device_comm_bytes == host[0]);
  CHECK(layout.rank == host[2]);
  CHECK(layout.window_stride_4g == host[22]);
}

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

void check_proxy_structs(const NcclHeaders& headers) {
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
  if (headers.version() < NcclVersion{2, 29, 0}) {  // later ones are bit fields
    for (const char* field :
         {"inlineHigh.inlineValHigh", "inlineHigh.resv2", "completion.counterId",
          "completion.signalId", "completion.signalValLow", "signalVal.signalValLow2",
          "signalVal.signalValHigh"}) {
      expressions.push_back(offset("ncclGinProxyQword_t", field));
    }
  }
  check_all(expressions, probe_nccl(headers, NcclForm::kFull, expressions),
            ask_host_compiler(headers, {"nccl_device/gin/proxy/gin_proxy_device_host_common.h"},
                              expressions));
}

/// The network card's queues, as DOCA's headers have them.
void check_card_structs(const NcclHeaders& headers) {
  const std::string folder = "nccl_device/gin/gdaki/doca_gpunetio/common/doca_gpunetio_verbs_";
  const auto text = read_file(headers.folder() / (folder + "dev.h"));
  const auto definitions = read_file(headers.folder() / (folder + "def.h"));
  if (!text || !definitions) {
    CHECK(headers.version() == NcclVersion{2, 28, 7});  // the one release without DOCA's headers
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
  check_all(expressions, probe_nccl(headers, NcclForm::kFull, expressions),
            ask_host_compiler(headers, {folder + "dev.h"}, expressions));
}

/// The fields that the runtime sets and reads, by name: those that a version lacks are left out.
void check_fields(const NcclHeaders& headers) {
  const NcclLayout layout = nccl_layout(headers);
  std::vector<std::string> expressions = {"sizeof(ncclDevCommRequirements)"};
  std::vector<std::uint64_t> ours = {layout.requirements.size()};
  const auto add = [&](const std::string& type, const NcclFields& fields) {
    for (const auto& [field, place] : fields) {
      expressions.push_back(offset(type, field));
      ours.push_back(place.offset);
      expressions.push_back("sizeof(" + type + "::" + field + ")");
      ours.push_back(place.num_bytes);
    }
  };
  add("ncclDevComm", layout.device_comm_fields);
  add("ncclDevCommRequirements", layout.requirement_fields);
  if (!layout.properties.empty()) {
    expressions.emplace_back("sizeof(ncclCommProperties)");
    ours.push_back(layout.properties.size());
    add("ncclCommProperties", layout.property_fields);
  }
  check_all(expressions, ours,
            ask_host_compiler(
                headers, {"nccl.h", nccl_host_header(headers), "nccl_device/impl/comm__types.h"},
                expressions));
  CHECK(layout.device_comm_fields.size() == 4);
  CHECK(layout.requirement_fields.count("ginConnectionType") ==
        (headers.version() >= NcclVersion{2, 29, 7} ? 1 : 0));
  CHECK(layout.requirement_fields.count("worldGinBarrierCount") ==
        (headers.version() >= NcclVersion{2, 30, 0} ? 1 : 0));
  CHECK(layout.properties.empty() == (headers.version() < NcclVersion{2, 29, 0}));
}

void check_structs(const NcclHeaders& headers) {
  check_communicator_structs(headers);
  check_proxy_structs(headers);
  check_card_structs(headers);
  check_fields(headers);
}

}  // namespace

TEST_CASE("NCCL's structs have the host compiler's layout", "[nccl]") {
  TILEWIRE_REQUIRE_NVRTC();
  if (const auto headers = nccl_headers_or_null()) check_structs(*headers);
}

TEST_CASE("So they have in every minor version", "[nccl][matrix]") {
  TILEWIRE_REQUIRE_NVRTC();
  for_each_nccl_release(check_structs);
}

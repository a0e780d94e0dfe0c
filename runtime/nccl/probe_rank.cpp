#include "runtime/nccl/probe_rank.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

#include "compiler/support/environment.h"
#include "compiler/support/files.h"
#include "runtime/driver/memory.h"
#include "runtime/nccl/device_structs.h"
#include "runtime/nccl/fixed_text.h"
#include "runtime/nccl/struct_fields.h"

namespace tilewire {
namespace {

bool has_attribute(const Device& device, int attribute) {
  int value = 0;
  // An older driver doesn't know what it hasn't got.
  return cuda::api().device_attribute(&value, attribute, device.ordinal()) == cuda::kSuccess &&
         value != 0;
}

/// `ncclCommProperties` as NCCL fills it in; empty where this version has none, or says nothing.
std::string properties_of(nccl::Comm comm) {
  const auto query = nccl::api().comm_query_properties;
  std::string bytes = device_layout().properties;
  if (query == nullptr || bytes.empty()) return {};
  return query(comm, bytes.data()) == nccl::kSuccess ? bytes : std::string();
}

template <typename Value>
std::optional<Value> property(const std::string& bytes, std::string_view field) {
  if (bytes.empty()) return std::nullopt;
  return static_cast<Value>(read_field(bytes, device_layout().property_fields, field, 0));
}

}  // namespace

void describe_device(const Device& device, RankCapabilities& found) {
  copy_text(found.device_name, device.name());
  const std::string boot = read_file("/proc/sys/kernel/random/boot_id").value_or("");
  found.machine = std::hash<std::string>()(boot);
  char host[sizeof(found.host)] = {};
  if (::gethostname(host, sizeof(host) - 1) == 0) copy_text(found.host, host);
  char bus_id[sizeof(found.bus_id)] = {};
  if (cuda::api().device_bus_id(bus_id, sizeof(bus_id), device.ordinal()) == cuda::kSuccess) {
    copy_text(found.bus_id, bus_id);
  }
}

RankCapabilities probe_rank(const Device& device, nccl::Comm comm, const RankPlace& place) {
  const Environment& environment = Environment::get();
  RankCapabilities found;
  describe_device(device, found);
  found.first_of_team = place.rank - place.lsa_rank;
  found.lsa_size = place.lsa_size;
  found.nccl_version = nccl::api().version.to_code();
  const std::string properties = properties_of(comm);
  found[Feature::kMultimem] = judge(
      MultimemFacts{.compute_capability = device.compute_capability(),
                    .lsa_size = place.lsa_size,
                    .switched = environment.nccl_nvls_enable,
                    .driver_multicast = has_attribute(device, cuda::kAttributeMulticastSupported),
                    .nccl_supports = property<bool>(properties, "multimemSupport")});
  found[Feature::kNetwork] = judge(NetworkFacts{.all_reached = place.lsa_size == place.world_size,
                                                .switched = environment.nccl_gin_enable,
                                                .gin_type = property<int>(properties, "ginType")});
  found[Feature::kGraphs] = probe_graphs(device);
  return found;
}

Answer probe_atomics(const Device& device, int rank, std::span<const RankCapabilities> of_rank) {
  const RankCapabilities& own = of_rank[static_cast<std::size_t>(rank)];
  std::vector<PeerAtomics> peers;
  for (int peer = own.first_of_team; peer < own.first_of_team + own.lsa_size; ++peer) {
    if (peer == rank) continue;
    const RankCapabilities& other = of_rank[static_cast<std::size_t>(peer)];
    PeerAtomics found{.rank = peer, .native = std::nullopt};
    cuda::DeviceOrdinal ordinal = 0;
    int native = 0;
    if (own.machine != other.machine) {
      found.native = true;  // no PCIe leads there: it is NVLink
    } else if (cuda::api().device_by_bus_id(&ordinal, other.bus_id) == cuda::kSuccess &&
               cuda::api().peer_attribute(&native, cuda::kPeerNativeAtomics, device.ordinal(),
                                          ordinal) == cuda::kSuccess) {
      found.native = native != 0;
    }
    peers.push_back(found);
  }
  return judge(peers);
}

Answer probe_graphs(const Device& device) {
  const ContextGuard guard(device);
  const OutsideCapture outside;
  const cuda::Api& api = cuda::api();
  const OwnedStream stream(device);
  const DeviceMemory memory(device, 1);
  cuda::Graph graph = nullptr;
  cuda::GraphExec executable = nullptr;
  cuda::Result result = api.stream_begin_capture(stream.get(), cuda::kCaptureModeRelaxed);
  if (result == cuda::kSuccess) {
    const cuda::Result work = api.fill_bytes(memory.address(), 0, 1, stream.get());
    result = api.stream_end_capture(stream.get(), &graph);
    if (work != cuda::kSuccess) result = work;
  }
  if (result == cuda::kSuccess) result = api.graph_instantiate(&executable, graph, 0);
  if (executable != nullptr) api.graph_exec_destroy(executable);
  if (graph != nullptr) api.graph_destroy(graph);
  return result == cuda::kSuccess ? Answer{} : Answer{Ground::kNoCapture, result};
}

}  // namespace tilewire

#include "runtime/nccl/requirements.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "compiler/support/error.h"
#include "runtime/nccl/nccl.h"
#include "runtime/nccl/struct_fields.h"

namespace tilewire {
namespace {

constexpr std::int64_t kConnectNone = 0;  // ncclGinConnectionType_t
constexpr std::int64_t kConnectFull = 1;
constexpr NcclVersion kConnectionType = {2, 29, 7};  ///< before, the network is all or nothing
constexpr NcclVersion kForever = {1 << 16, 0, 0};

/// A field of ncclDevCommRequirements: in which versions it says what is needed, and what.
struct Requirement {
  std::string_view field;
  std::string_view resource;  ///< for messages
  NcclVersion since;
  NcclVersion before;
  std::int64_t (*value)(const DeviceNeeds&);
};

/// Where a resource has two rows, each version takes one of them.
constexpr std::array<Requirement, 9> kTable = {{
    {"lsaMultimem", "multimem", kOldestNccl, kForever,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.multimem; }},
    {"lsaBarrierCount", "barriers over the LSA team", kOldestNccl, kForever,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.lsa_barriers; }},
    {"railGinBarrierCount", "barriers over the rail", kOldestNccl, kForever,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.rail_gin_barriers; }},
    {"worldGinBarrierCount",
     "barriers over the world",
     {2, 30, 3},
     kForever,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.world_gin_barriers; }},
    {"ginContextCount", "GIN contexts", kOldestNccl, kForever,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.gin_contexts; }},
    {"ginSignalCount", "GIN signals", kOldestNccl, kForever,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.gin_signals; }},
    {"ginCounterCount", "GIN counters", kOldestNccl, kForever,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.gin_counters; }},
    {"ginForceEnable", "GIN", kOldestNccl, kConnectionType,
     [](const DeviceNeeds& needs) -> std::int64_t { return needs.needs_gin(); }},
    {"ginConnectionType", "GIN", kConnectionType, kForever,
     [](const DeviceNeeds& needs) { return needs.needs_gin() ? kConnectFull : kConnectNone; }},
}};

bool serves(const Requirement& row, const NcclVersion& version) {
  return row.since <= version && version < row.before;
}

[[noreturn]] void fail_without(const Requirement& row, const NcclVersion& version) {
  throw BackendError(fmt::format("NCCL {} has no {}: it has them as of {}", version.to_string(),
                                 row.resource, row.since.to_string()));
}

}  // namespace

std::string requirement_bytes(const NcclLayout& layout, const DeviceNeeds& needs) {
  nccl::require_known_version(layout.version, "headers");
  std::string bytes = layout.requirements;
  for (const Requirement& row : kTable) {
    const std::int64_t value = row.value(needs);
    // What isn't needed stays as NCCL has it: its default of four contexts asks for nothing.
    if (value == 0) continue;
    if (serves(row, layout.version)) {
      write_field(bytes, layout, layout.requirement_fields, row.field, value);
    } else if (std::ranges::none_of(kTable, [&](const Requirement& other) {
                 return other.resource == row.resource && serves(other, layout.version);
               })) {
      fail_without(row, layout.version);
    }
  }
  return bytes;
}

}  // namespace tilewire

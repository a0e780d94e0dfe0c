#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/jit/nccl_headers.h"

namespace tilewire {

/// Where a field lies in its struct, in bytes.
struct NcclField {
  std::uint64_t offset = 0;
  std::uint64_t num_bytes = 0;
  bool operator==(const NcclField&) const = default;
};

/// A struct that is taken apart by the names of its fields: those that this version has.
using NcclFields = std::map<std::string, NcclField, std::less<>>;

/// Sizes and offsets, in bytes, of NCCL's device structs in one version, as NVRTC lays them out.
/// NCCL promises few of them across versions, so the host takes them from here and passes the
/// structs as opaque bytes.
struct NcclLayout {
  NcclVersion version;

  std::uint64_t device_comm_bytes = 0;  ///< of ncclDevComm
  std::uint64_t device_comm_alignment = 0;
  std::uint64_t rank = 0;
  std::uint64_t num_ranks = 0;
  std::uint64_t lsa_rank = 0;
  std::uint64_t lsa_size = 0;

  std::uint64_t window_bytes = 0;  ///< of ncclWindow_vidmem
  std::uint64_t window_lsa_flat_base = 0;
  std::uint64_t window_lsa_rank = 0;
  std::uint64_t window_world_rank = 0;
  std::uint64_t window_stride_4g = 0;
  std::uint64_t window_multicast_offset_4k = 0;

  /// Of ncclDevComm, besides those above.
  NcclFields device_comm_fields = {};

  /// ncclDevCommRequirements as NCCL's initialiser makes it, byte for byte; all zeros before 2.29,
  /// which has none.
  std::string requirements = {};
  NcclFields requirement_fields = {};

  /// ncclCommProperties, alike; empty before 2.29, which has none.
  std::string properties = {};
  NcclFields property_fields = {};

  bool operator==(const NcclLayout&) const = default;
};

/// The layout of NCCL's structs in `headers`, read off a probe that NVRTC compiles to PTX: no GPU
/// is needed, and the disk cache keeps the answer. BackendError where NVRTC or a field is missing.
NcclLayout nccl_layout(const NcclHeaders& headers, NcclForm form = NcclForm::kSlim);

/// Where these fields of a struct lie; those that it lacks are left out, and all are where this
/// version has no such struct.
NcclFields probe_nccl_fields(const NcclHeaders& headers, NcclForm form, std::string_view type,
                             std::span<const std::string_view> fields);

/// Values of integral constant expressions over NCCL's structs (`sizeof(ncclDevComm)`,
/// `offsetof(ncclDevComm, rank)`), as NVRTC computes them.
std::vector<std::uint64_t> probe_nccl(const NcclHeaders& headers, NcclForm form,
                                      std::span<const std::string> expressions);

}  // namespace tilewire

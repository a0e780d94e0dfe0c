#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/jit/nvrtc.h"

namespace tilewire {

/// How much of NCCL's device API a kernel gets.
enum class NcclForm {
  kSlim,     ///< teams, windows and barriers inside the LSA team: what loads and stores reach
  kFull,     ///< the network too (GIN, all back ends that the headers have)
  kVirtual,  ///< none: what stands in between virtual ranks
             ///< (templates/tilewire/virtual_network.cuh)
};

/// NCCL's headers as installed: path relative to the include folder (`nccl_device/core.h`) → text.
using NcclFiles = std::map<std::string, std::string, std::less<>>;

/// Includes <nccl_device.h> and the structs that the host hands to NCCL
/// (`ncclDevCommRequirements`).
inline constexpr const char* kNcclHostHeader = "tilewire_nccl_host.h";

/// In-memory headers that NVRTC compiles: `nccl_device.h`, `kNcclHostHeader` and all that they
/// include, NCCL's own texts with the changes below. `__host__` is defined away by the standard
/// header that they include (templates/tilewire/nvrtc/standard.cuh). Names are those in the
/// `#include` lines, which are rewritten to paths relative to the include folder.
std::vector<Header> adapt_nccl_headers(const NcclFiles& files, NcclForm form);

/// Whether a rank can read another's memory over the network (`ncclGin::get`, since 2.30).
bool network_has_get(const NcclFiles& files);

/// Stand-ins for the standard and CUDA headers that NCCL's and tilewire's device code include, by
/// the names they are included with. `form` decides how much of <cuda/atomic> there is.
std::vector<Header> standard_headers(NcclForm form);

/// NVRTC ignores attributes behind a struct's closing brace (and only warns), but honours them
/// before its name: `struct {…} __attribute__((packed)) x;` → `struct __attribute__((packed)) {…}
/// x;`. All attributes between `}` and the next token move, for structs and unions.
std::string move_attributes_before_names(std::string_view text);

/// `part[sizeof(T)/2]` → at least one element: such arrays stand in branches not taken, where NVRTC
/// still refuses a length of zero.
std::string without_empty_arrays(std::string_view text);

/// DOCA's `TYPEOF(x)` becomes GCC's typeof also where the compiler isn't GCC: `decltype` of an
/// lvalue is a reference, to which there is no pointer.
std::string without_reference_types(std::string_view text);

}  // namespace tilewire

#pragma once

#include <cstdint>
#include <string>

#include "compiler/jit/nccl_layout.h"

namespace tilewire {

/// What kernels of a communicator need of NCCL's device communicator. tilewire's lanes and windows
/// are its own: a world whose ranks all reach each other needs nothing.
struct DeviceNeeds {
  bool multimem = false;  ///< multicast addresses over the LSA team
  int lsa_barriers = 0;   ///< NCCL's own barriers, per kind; kernels of tilewire use none
  int rail_gin_barriers = 0;
  int world_gin_barriers = 0;  ///< since 2.30
  int gin_contexts = 0;        ///< above 0: GIN, connected to all ranks
  int gin_signals = 0;         ///< ids from 0 on, the same on each context
  int gin_counters = 0;        ///< ids from 0 on

  bool needs_gin() const {
    return gin_contexts > 0 || gin_signals > 0 || gin_counters > 0 || rail_gin_barriers > 0 ||
           world_gin_barriers > 0;
  }
};

/// `ncclDevCommRequirements` of the layout's NCCL: what NCCL's initialiser leaves, with the fields
/// set that the table in requirements.cpp has for this version. BackendError where the version
/// isn't known (says which are), where it can't give what is needed, or where its headers lack a
/// field that they should have.
std::string requirement_bytes(const NcclLayout& layout, const DeviceNeeds& needs);

}  // namespace tilewire

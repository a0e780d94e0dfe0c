#pragma once

#include <map>
#include <set>

#include "compiler/ir/program.h"

namespace tilewire {

/// Where the threads of a CTA must meet, so that an author who thinks of one sequential instance
/// is right; and where in shared memory each statement passes its data through.
///
/// Threads run apart between two meetings. Two accesses to memory need one between them where one
/// writes and different threads may touch the same element: always, unless both spread elements
/// over threads alike (same offset, shape, strides and layout). Two parameters are taken to be the
/// same memory, where their shapes allow that, or to share none of it; iterations of a loop are
/// told apart where offsets go with its index.
struct SyncPlan {
  std::set<const Statement*> syncs_before;  ///< a `__syncthreads` stands before these
  /// Statements that pass data through shared memory → bytes from the start of the buffer.
  std::map<const Statement*, int> shared_offsets;
  int num_shared_bytes = 0;
};

SyncPlan plan_synchronisation(const Program& lowered);

}  // namespace tilewire

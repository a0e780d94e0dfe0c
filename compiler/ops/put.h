#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// How `view_copy` says what it copies: element (i, j, …) of so many, so many elements apart.
struct ViewCopy {
  struct Dimension {
    Value* extent;
    Value* to_stride;
    Value* from_stride;
  };
  Value* to = nullptr;    ///< pointer
  Value* from = nullptr;  ///< pointer
  std::vector<Dimension> dimensions;
  int known_bytes = 1;  ///< addresses, strides and runs of the last dimension are multiples of this
  bool is_bulk = false;  ///< may be large enough for bulk copies through shared memory

  static ViewCopy of(const Statement& statement);
};

/// What a sum over ranks' copies (`all_reduce_load`, `reduce_store`) reduces by: `add`, `min`, …
std::string operation_of(const Statement& reduction);

/// Whether statements have copies of views, and whether some of a kernel's may be bulk copies on
/// the target.
bool has_view_copies(const Region& region, bool are_bulk = false);
bool has_bulk_copies(const Program& lowered, const Target& target);

/// Whether those that may be are the task's: it has all stages then.
bool task_has_bulk_copies(const Program& lowered);

/// Fewer bytes are never worth a bulk copy: loads and stores have them in flight at once.
inline constexpr std::int64_t kLeastBulkBytes = std::int64_t{64} * 1024;

}  // namespace tilewire

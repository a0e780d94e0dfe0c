#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "compiler/codegen/cuda/access_mapping.h"
#include "compiler/ir/program.h"
#include "compiler/passes/bounds.h"

namespace tilewire {

/// Which accesses of a program may touch an element that another thread touches.
class Aliasing {
 public:
  explicit Aliasing(const Program& program);

  /// Whether an access may touch what another thread touched in one of the earlier ones.
  bool conflicts(const std::set<AccessMapping>& earlier, const AccessMapping& mapping) const;

  /// Whether a write may come before a read of the same memory by another thread.
  bool overtakes(const std::set<AccessMapping>& reads, const AccessMapping& write) const;

  /// What the accesses of one iteration are to the next one. The same offset names another place
  /// there: one that another thread may have touched, unless iterations are proven to stay apart.
  std::set<AccessMapping> of_another_iteration(const Statement& loop,
                                               const std::set<AccessMapping>& mappings);

 private:
  bool stays_apart(const Statement& loop, const AccessMapping& mapping);
  bool is_own_tile(const AccessMapping& mapping, const std::set<const Value*>& inside);

  const Program& program_;
  Bounds bounds_;
};

}  // namespace tilewire

#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "compiler/ir/program.h"
#include "compiler/passes/bounds.h"

namespace tilewire {

/// Which index values of a lowered program are the same for all program instances of a cluster:
/// `size` instances with neighbouring ids, the first of which is a multiple of it, in a grid of
/// whole clusters. Conservative: an answer of false means "not proven".
class Uniformity {
 public:
  Uniformity(const Program& program, std::int64_t size);

  bool is_uniform(const Value* value);
  /// Whether all of a cluster run a loop equally often, or take the same branch.
  bool runs_alike(const Statement& structure);

 private:
  void collect(const Region& region, const Statement* owner);
  bool find_out(const Value* value);
  bool is_uniform_op(const Statement& op);
  bool is_uniform_argument(const Value* argument, const Statement& loop);
  bool is_uniform_carried(const Statement& loop, std::size_t place);
  /// A loop from the program's id on, in steps of the number of programs.
  static bool is_persistent(const Statement& loop);

  std::int64_t size_;
  Bounds bounds_;
  std::map<const Value*, const Statement*> owners_;  ///< region argument → whose
  std::map<const Value*, bool> known_;
};

}  // namespace tilewire

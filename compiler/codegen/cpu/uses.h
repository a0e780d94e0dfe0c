#pragma once

#include <map>
#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

/// Who uses what, seen from each value's own region: a use inside a loop or a branch counts as one
/// of the whole loop or branch.
class Uses {
 public:
  explicit Uses(const Region& body);

  /// The values of the statement's own region that it, or anything inside it, uses; each once, in
  /// order of first use.
  const std::vector<const Value*>& used_by(const Statement& statement) const;

  /// How many statements of the value's own region use it.
  int num_users(const Value* value) const;

  /// The statement of the value's own region that names it as its operand, where that is the only
  /// mention of the value; else null.
  const Statement* single_user(const Value* value) const;

  /// The one op of the value's own region in whose loop over elements all uses of a tile end,
  /// through element-wise ops of its shape; null where there are several, or other uses.
  const Statement* common_loop(const Value* value) const;

 private:
  std::vector<const Value*> visit(const Region& region);
  void find_common_loops(const Region& region);

  std::map<const Statement*, std::vector<const Value*>> used_by_;
  std::map<const Value*, int> num_users_;
  std::map<const Value*, int> num_mentions_;
  std::map<const Value*, std::vector<const Statement*>> mentioned_by_;  ///< in its own region
  std::map<const Value*, int> num_own_mentions_;
  std::map<const Value*, const Statement*> common_loops_;
};

}  // namespace tilewire

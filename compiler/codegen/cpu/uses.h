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

 private:
  std::vector<const Value*> visit(const Region& region);

  std::map<const Statement*, std::vector<const Value*>> used_by_;
  std::map<const Value*, int> num_users_;
  std::map<const Value*, int> num_mentions_;
  std::map<const Value*, const Statement*> mentioned_by_;
};

}  // namespace tilewire

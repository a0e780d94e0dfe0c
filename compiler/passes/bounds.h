#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/passes/counters.h"
#include "compiler/passes/linear.h"

namespace tilewire {

/// What can be said at compile time about index values (i64 scalars): which inequalities hold, and
/// what divides them. Conservative: an answer of false or 1 means "not proven". Index arithmetic is
/// taken not to overflow. Values made after construction may be asked about too, unless they are
/// the arguments of new loops.
class Bounds {
 public:
  explicit Bounds(const Program& program);

  /// a >= b + offset, in every run.
  bool at_least(const Value* a, const Value* b, std::int64_t offset = 0);
  bool is_at_least(const Value* a, std::int64_t constant);
  /// sum >= 0
  bool is_non_negative(const Linear& sum);

  /// The value as a sum over values that don't decompose further.
  Linear linear(const Value* value);

  /// A number that divides the value in every run, 1 at least; 0 for the constant 0, which
  /// everything divides.
  std::int64_t divisor(const Value* value);
  bool is_multiple(const Value* value, std::int64_t of);
  bool is_multiple(const Linear& sum, std::int64_t of);

 private:
  /// factor · value <= sum, or >= sum.
  struct Side {
    std::int64_t factor;
    Linear sum;
  };
  /// What bounds a value on one side. Each of `any` holds; where `all` isn't empty, the value is
  /// one of these sums.
  struct SideBounds {
    std::vector<Side> any;
    std::vector<Linear> all;
  };

  SideBounds bounds_of(const Value* value, bool upper);
  void op_bounds(const Statement& op, bool upper, SideBounds& into);
  void counter_bounds(const Counter& counter, bool upper, SideBounds& into);
  void loop_bounds(const Statement& loop, bool upper, SideBounds& into);
  bool prove(const Linear& sum, int& budget);
  /// A constant that the sum is never below.
  std::optional<std::int64_t> least(const Linear& sum, int& budget);
  /// A constant that the value is never above.
  std::optional<std::int64_t> greatest(const Value* value);
  int depth(const Value* value);
  std::int64_t own_divisor(const Value* value);
  std::int64_t divisor(const Linear& sum);
  const Statement* loop_of(const Value* index) const;
  std::optional<Linear> decompose(const Statement& op);

  const Program& program_;
  std::unordered_map<const Value*, const Statement*> loops_;  ///< by index
  std::unordered_map<const Value*, Counter> counters_;        ///< by region argument
  std::unordered_map<const Value*, bool> extents_;            ///< run-time dimensions
  std::unordered_map<const Value*, int> depths_;
  std::unordered_map<const Value*, Linear> linears_;
  std::unordered_map<const Value*, std::optional<std::int64_t>> greatest_;
  /// Proofs ask for each other: remembering keeps their number in bounds.
  std::map<std::pair<const Value*, std::int64_t>, bool> proven_;
};

}  // namespace tilewire

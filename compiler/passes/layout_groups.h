#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ops/layouts.h"

namespace tilewire {

/// Tiles that share a layout: they have the same elements in row-major order, and ops that work
/// element by element, loops, branches, and changes of shape by extents of 1 connect them.
struct LayoutGroup {
  std::vector<Value*> tiles;  ///< in program order
  int smallest_bytes = 0;     ///< of the dtypes that memory accesses have; 0: no access
  int vector_limit = 0;       ///< least `vector` of accesses that can't go by 16 bytes; 0: none
  bool is_by_rows = true;     ///< all of its tiles have one last extent
  bool has_per_row = false;   ///< something reduces its rows, or repeats along them
  bool has_per_column = false;
  bool is_owned = false;    ///< one thread alone may hold an element, as where atomics return it
  bool is_message = false;  ///< sent or received, so that all ranks must spread it alike
  std::map<Layout, int> votes;  ///< layouts that ops would like it to have
  Layout layout;

  std::int64_t num_elements() const { return tiles.front()->type.num_elements(); }
  std::int64_t num_columns() const { return tiles.front()->type.shape.back(); }
  /// Elements per vector: 16 bytes of the smallest dtype, as far as the innermost extent and (with
  /// `by_access`) the accesses allow.
  int vector(bool by_access) const;
  /// Whether slices of whole rows meet it, so that its layout should keep rows together.
  bool wants_rows() const { return is_by_rows && (has_per_row || has_per_column); }
};

/// The groups of a program's tiles.
class LayoutGroups {
 public:
  explicit LayoutGroups(Program& program);

  LayoutGroup& of(const Value* tile) { return groups_.at(index_.at(tile)); }
  std::vector<LayoutGroup>& all() { return groups_; }

 private:
  Value* root(Value* tile);
  void unite(Value* a, Value* b);
  void unite_exchanged(const Statement& op);
  /// Tiles of one shape whose elements are looked at together.
  void unite_operands(const Statement& op);
  void connect(const Region& region);
  void connect_statement(const Statement& statement);
  void connect_op(const Statement& op);
  void collect(const Region& region);
  void add(Value* tile);
  void constrain(const Statement& statement);
  void constrain_message(Value* tile);

  std::unordered_map<Value*, Value*> parents_;
  std::map<const Value*, std::size_t> index_;
  std::vector<LayoutGroup> groups_;
};

}  // namespace tilewire

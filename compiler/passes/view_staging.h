#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/passes/bounds.h"
#include "compiler/passes/rewrite.h"
#include "compiler/passes/view_access.h"

namespace tilewire {

/// What lowering views makes of staged products (`stage_products`): loads of operands by tensor
/// maps.
class ViewStaging {
 public:
  ViewStaging(Program& program, Bounds& bounds);

  /// `tile` was loaded from `view` of the parameter whose whole view is `whole`.
  void note_load(const Value* tile, const LoweredView& view, const LoweredView& whole);

  /// Both operands come from the ring, right before the product, or none does, and it is staged no
  /// longer. Loads that nothing reads any more are removed later.
  void stage_operands(Statement& matmul, Statements& into);

  /// Behind a statement that was lowered: rows and columns of a product that its operands' views
  /// haven't got are what they were before. Gives what replaces the statement's results.
  void restore_outside(const Statement& statement, Statements& into, Replacements& replaced);

  /// At the end: takes back what `restore_outside` did where only stores that leave out the same
  /// lines, or more, would have seen it.
  void drop_unseen();

 private:
  struct Loaded {
    LoweredView view;
    const LoweredView* whole;
  };
  /// Which lines of a product exist; null: all.
  struct Clip {
    std::optional<AccessMask> rows;
    std::optional<AccessMask> columns;
  };

  Value* operand_load(const Statement& matmul, const Loaded& loaded, std::size_t place,
                      std::int64_t offset, Clip& clip, Inserter& insert);
  void add_map_place(const LoweredView& view, const std::vector<Value*>& coordinates,
                     std::vector<Value*>& operands, Attributes& attributes) const;
  bool is_unseen(const Value* tile, const Clip& clip, int depth);
  bool leaves_out(const Statement& store, const Clip& clip);
  Value* inside(const Clip& clip, const Type& product, Inserter& insert) const;
  bool is_known_outside(const Value* value, const Statements& inside) const;

  Program& program_;
  Bounds& bounds_;
  std::unordered_map<const Value*, Loaded> loaded_;    ///< by tile
  std::map<const Statement*, Clip> clips_;             ///< by matmul
  std::map<const Statement*, const Statement*> sums_;  ///< matmul → the loop that only adds it up
  /// The product as its loop leaves it, and as it was restored.
  struct Restored {
    Value* product;
    Value* restored;
    Clip clip;
  };
  std::vector<Restored> restored_;
  std::int64_t num_staged_ = 0;  ///< products
};

}  // namespace tilewire

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// An operand in a slot.
struct SlotOperand {
  std::size_t place = 0;    ///< 0: a matmul's left one, 1: its right one
  std::size_t depth = 0;    ///< the tile's dimension along K
  std::int64_t offset = 0;  ///< bytes of the slot before it
};

/// A loop whose products take their operands from slots.
struct LoopAhead {
  Statement* loop = nullptr;
  std::vector<Statement*> products;
  std::map<const Statement*, SlotOperand> operands;  ///< by load
  std::set<const Statement*> held;  ///< products whose left operand is in registers
  std::int64_t slot_bytes = 0;

  /// The first operand of a product that comes from a slot.
  std::size_t first_operand(const Statement* product) const {
    return held.contains(product) ? 1 : 0;
  }
};

/// The loops of a program whose products can take their operands from slots that are filled some
/// iterations ahead (`fill_ahead`), where all of them find room: none where anything else in the
/// program speaks against it. Their products' `ahead` says how many warpgroups multiply.
std::vector<LoopAhead> find_products_ahead(Program& program, const Target& target);

}  // namespace tilewire

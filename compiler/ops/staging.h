#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

/// An `operand_load`: a tile in the memory of a parameter, as a tensor map
/// finds it.
struct MapAccess {
  const Value* parameter = nullptr;
  const Value* rank = nullptr;            ///< whose copy of a window; null: this rank's
  const Value* tile = nullptr;            ///< loaded
  std::vector<const Value*> coordinates;  ///< of the first element, per dimension of the parameter
  std::vector<std::int64_t> dimensions;   ///< the parameter's, that the tile's go along
  std::vector<std::int64_t> shape;        ///< of the tile

  static MapAccess of(const Statement& statement);
  /// Whether the tile's dimension `dimension` is the one of neighbours in memory.
  bool is_contiguous_along(std::size_t dimension) const;
};

/// Whether a matmul takes its operands from the ring of shared memory that a producer fills.
bool is_staged(const Statement& matmul);
/// The first of its operands that does: the left one may be in registers.
std::size_t first_staged_operand(const Statement& matmul);
bool has_staged_product(const Region& region);

/// Bytes of a slot of the ring that holds a matmul's operands.
std::int64_t slot_bytes(const Statement& matmul);

/// Threads that multiply staged operands of so many rows, a multiple of 64 or fewer: a warpgroup
/// for every 64, three at most, each with as many rows as the others.
int consumer_threads(std::int64_t rows);

/// Whether a matmul takes its operands from the ring that all threads fill, and the warpgroups that
/// multiply.
bool is_ahead(const Statement& matmul);
bool has_product_ahead(const Region& region);
int warpgroups_ahead(const Statement& matmul);

/// Whether what others wrote may be read behind a lowered op, and not in front.
bool is_acquire(const Statement& statement);

/// Whether a lowered op is a wait for flags that the producer makes.
bool is_producers_wait(const Statement& statement);

/// Whether it is the branch that says what is the producer's, and what its consumers'.
bool are_roles(const Statement& statement);

/// Whether the program has a producer: roles are split.
bool has_roles(const Program& program);

}  // namespace tilewire

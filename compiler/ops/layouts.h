#pragma once

#include <cstdint>

#include "compiler/ir/program.h"

namespace tilewire {

/// How a tile with one element less in each row or column stands to a larger one.
enum class Slice : std::uint8_t {
  kNone,       ///< along another dimension
  kPerRow,     ///< an element for each row of the last dimension
  kPerColumn,  ///< an element for each element of the last dimension
};

/// What a reduction of `tile` along `axis` leaves.
Slice slice_left_by_reduction(const Type& tile, std::int64_t axis);
/// What a broadcast of `source` to `result` repeats.
Slice slice_repeated_by_broadcast(const Type& source, const Type& result);

/// The layout of such a slice in the registers of the threads that hold the larger tile; unknown
/// where there is none.
Layout layout_of_slice(Slice slice, const Type& larger);

/// Columns of a tile in the layout of products, behind which extents of 1 may stand.
std::int64_t fragment_columns(const Type& tile);

/// Whether the op is a `part` or `cat` of whole rows that, on tiles in the layout of products, only
/// gives registers other names.
bool renames_fragments(const Statement& statement);

/// Whether each register of a thread holds the same element, in row-major order, of both tiles,
/// which have equally many.
bool are_spread_alike(const Type& a, const Type& b);

}  // namespace tilewire

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/frontend/operand.h"

namespace tilewire {

/// How `Builder::tiles` divides and orders.
struct TileOrder {
  /// M is divided into so many parts as `torch.chunk` does: all of ceil(M / split) rows but the
  /// last, later ones empty. No tile crosses two parts. Absent: one part.
  std::optional<Operand> split;
  /// The part that comes first; the others follow it, around the end.
  std::optional<Operand> start;
  /// Inside a part: `row` (n runs fastest), `column` (m runs fastest), `grouped` (in bands of
  /// `group` rows of tiles, m runs fastest: neighbours share operands in the L2 cache).
  std::string_view order = "row";
  std::int64_t group = 8;
  /// So many consecutive tiles lie one below the other, in one column: what program instances of a
  /// cluster compute at a time, with a common right operand. Each part's rows of tiles are rounded
  /// up to a multiple; some tiles don't exist (`Work::exists`). Not in `row` order.
  std::int64_t cluster = 1;
  /// K is divided into `split_k` parts of equally many blocks of `block_k`, the last ones of fewer
  /// or none. Each part of a tile is an index of its own; those of one tile follow each other.
  /// Absent: one part. `split_k` needs the other two.
  std::optional<Operand> k;
  std::int64_t block_k = 0;
  std::optional<Operand> split_k;
};

/// Tiles of an M x N problem, as `Builder::tiles` divides it.
struct TileGrid {
  Value* count = nullptr;  ///< of all parts; an index
  std::int64_t block_m = 0;
  std::int64_t block_n = 0;
  std::int64_t cluster = 1;
  // Rows of tiles are counted by `cluster` tiles, one below the other:
  std::int64_t group = 0;  ///< rows in a band; 0: in `row` or `column` order
  bool is_row_order = true;
  bool is_split = false;
  bool is_even = false;               ///< all parts are known to be alike
  Value* chunk = nullptr;             ///< rows of a part that isn't the last
  Value* m = nullptr;                 ///< M
  Value* num_rows = nullptr;          ///< rows of tiles, of all parts
  Value* part_rows = nullptr;         ///< rows of tiles of a part that isn't the last
  Value* columns = nullptr;           ///< tiles side by side
  Value* shift = nullptr;             ///< number of the cluster of tiles that comes first; null: 0
  std::optional<Operand> parts_of_k;  ///< absent: K isn't divided
  Value* chunk_of_k = nullptr;        ///< a part of K that ends before K does
  Value* num_tiles = nullptr;         ///< `count` without parts of K
};

/// One of them. Rows and columns that don't exist, because M, N or the part ends, are masked.
struct Work {
  Index m;                       ///< rows
  Index n;                       ///< columns; not of ragged tiles
  Index local_m;                 ///< rows, counted from the part's or the group's first
  Value* part = nullptr;         ///< whose rows; of ragged tiles: the group
  Value* local_index = nullptr;  ///< the tile's number in its part, in row-major order
  Value* exists = nullptr;       ///< false: a tile that fills up a cluster; null: it does
  std::optional<Index> k;        ///< its part of K: a range; absent where K isn't divided
  Value* k_part = nullptr;       ///< that part's number
  Value* place = nullptr;        ///< the tile's number among all, in the order of `count`
};

/// Tiles over groups of rows whose sizes lie on the device.
struct RaggedGrid {
  Value* count = nullptr;
  Value* sizes = nullptr;
  std::int64_t block = 0;
};

}  // namespace tilewire

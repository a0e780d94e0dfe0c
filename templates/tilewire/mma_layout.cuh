// How the tensor cores' operands and results are spread over a warp's lanes, and how a CTA's warps
// share a product. Plain arithmetic: the code generator and the unit tests compile this file too.
#pragma once

#include "tilewire/layout.cuh"

namespace tilewire::device {

TILEWIRE_CONSTEXPR int round_up(int a, int b) { return divide_up(a, b) * b; }

// One instruction `mma.sync.m16n8kX` multiplies 16 rows of A by 8 columns of B, each 32 bytes long
// along K: X is 16 for 16-bit elements, 32 for bytes, 8 for tf32. Counted in 32-bit words, all of
// them hold their operands alike (PTX ISA, "Matrix Fragments for mma.m16n8k8/k16/k32").
inline constexpr int kMmaRows = 16;
inline constexpr int kMmaColumns = 8;
inline constexpr int kMmaBytes = 32;

/// Word `word` (0 … 3) of a lane's part of A: its row, and its word along K.
struct MmaLeft {
  static TILEWIRE_CONSTEXPR int row(int lane, int word) { return lane / 4 + word % 2 * 8; }
  static TILEWIRE_CONSTEXPR int depth_word(int lane, int word) { return lane % 4 + word / 2 * 4; }
};
/// Word `word` (0, 1) of a lane's part of B: its column, and its word along K.
struct MmaRight {
  static TILEWIRE_CONSTEXPR int column(int lane, int) { return lane / 4; }
  static TILEWIRE_CONSTEXPR int depth_word(int lane, int word) { return lane % 4 + word * 4; }
};
/// Accumulator `slot` (0 … 3) of a lane.
struct MmaResult {
  static TILEWIRE_CONSTEXPR int row(int lane, int slot) { return lane / 4 + slot / 2 * 8; }
  static TILEWIRE_CONSTEXPR int column(int lane, int slot) { return lane % 4 * 2 + slot % 2; }
};

// `ldmatrix` gives word `lane % 4` of row `lane / 4` of matrix j, 8 rows of 16 bytes, in register
// j; lane 8 j + i names the address of row i of matrix j. The matrices that make up A and B:
struct MmaLeftLoad {
  static TILEWIRE_CONSTEXPR int row(int lane) { return lane % 8 + lane / 8 % 2 * 8; }
  static TILEWIRE_CONSTEXPR int byte(int lane) { return lane / 16 * 16; }
};
struct MmaRightLoad {
  static TILEWIRE_CONSTEXPR int column(int lane) { return lane % 8; }
  static TILEWIRE_CONSTEXPR int byte(int lane) { return lane / 8 % 2 * 16; }
};

/// Warps along the rows of `row_tiles` x `column_tiles` instructions: the split of `warps` that
/// leaves the busiest warp the fewest of them, and among those the one that loads least.
TILEWIRE_CONSTEXPR int warps_along_rows(int row_tiles, int column_tiles, int warps) {
  int best = 1;
  int best_work = 0;
  int best_loads = 0;
  for (int rows = 1; rows <= warps; ++rows) {
    if (warps % rows != 0) continue;
    const int own_rows = divide_up(row_tiles, rows);
    const int own_columns = divide_up(column_tiles, warps / rows);
    const int work = own_rows * own_columns;
    const int loads = own_rows * kMmaRows + own_columns * kMmaColumns;
    if (rows == 1 || work < best_work || (work == best_work && loads < best_loads)) {
      best = rows;
      best_work = work;
      best_loads = loads;
    }
  }
  return best;
}

/// The layout of a product of `kRows` x `kColumns` as the tensor cores leave it: each warp has a
/// rectangle of 16 x 8 tiles.
template <int kRows_, int kColumns_, int kThreads_>
struct MmaFragment {
  static constexpr int kRows = kRows_;
  static constexpr int kColumns = kColumns_;
  static constexpr int kThreads = kThreads_;
  static constexpr int kElements = kRows * kColumns;
  static constexpr int kVector = 2;  ///< neighbouring elements in neighbouring registers
  static constexpr int kWarps = kThreads / kWarpThreads;
  static constexpr int kAllRowTiles = divide_up(kRows, kMmaRows);
  static constexpr int kAllColumnTiles = divide_up(kColumns, kMmaColumns);
  static constexpr int kWarpRows = warps_along_rows(kAllRowTiles, kAllColumnTiles, kWarps);
  static constexpr int kWarpColumns = kWarps / kWarpRows;
  static constexpr int kRowTiles = divide_up(kAllRowTiles, kWarpRows);  ///< of each warp
  static constexpr int kColumnTiles = divide_up(kAllColumnTiles, kWarpColumns);
  static constexpr int kRegisters = kRowTiles * kColumnTiles * 4;
  static constexpr bool kIsFull = kRegisters * kThreads == kElements;
  static constexpr bool kIsReplicated = false;

  /// The tiles of 16 x 8 that a warp has: the first of its `kRowTiles` and `kColumnTiles`.
  static TILEWIRE_CONSTEXPR int first_row_tile(int warp) { return warp / kWarpColumns * kRowTiles; }
  static TILEWIRE_CONSTEXPR int first_column_tile(int warp) {
    return warp % kWarpColumns * kColumnTiles;
  }
  static TILEWIRE_CONSTEXPR int row(int thread, int slot) {
    const int tile = first_row_tile(thread / kWarpThreads) + slot / 4 / kColumnTiles;
    return tile * kMmaRows + MmaResult::row(thread % kWarpThreads, slot % 4);
  }
  static TILEWIRE_CONSTEXPR int column(int thread, int slot) {
    const int tile = first_column_tile(thread / kWarpThreads) + slot / 4 % kColumnTiles;
    return tile * kMmaColumns + MmaResult::column(thread % kWarpThreads, slot % 4);
  }
  static TILEWIRE_CONSTEXPR bool holds(int thread, int slot) {
    return row(thread, slot) < kRows && column(thread, slot) < kColumns;
  }
  static TILEWIRE_CONSTEXPR bool owns(int thread, int slot) { return holds(thread, slot); }
  /// The element in register `slot` of `thread`; kElements where it is padding.
  static TILEWIRE_CONSTEXPR int element(int thread, int slot) {
    return holds(thread, slot) ? row(thread, slot) * kColumns + column(thread, slot) : kElements;
  }
};

// A product is computed in blocks of the result, each in pieces along K that pass through shared
// memory: rows of A, then columns of B, padded to whole instructions, each row 16 bytes longer than
// its piece, so that the 8 rows of an `ldmatrix` lie in different banks.
inline constexpr int kMaxBlockRows = 128;
inline constexpr int kMaxBlockColumns = 64;
inline constexpr int kMaxDepthBytes = 128;
inline constexpr int kRowGapBytes = 16;

TILEWIRE_CONSTEXPR int block_rows(int rows) {
  return smaller(round_up(rows, kMmaRows), kMaxBlockRows);
}
TILEWIRE_CONSTEXPR int block_columns(int columns) {
  return smaller(round_up(columns, kMmaColumns), kMaxBlockColumns);
}
/// Bytes along K of a piece, for `lines` rows and columns together: a power of two.
TILEWIRE_CONSTEXPR int depth_bytes(int lines, int depth, int element_bytes) {
  int bytes = kMmaBytes;
  while (bytes < depth * element_bytes && bytes < kMaxDepthBytes &&
         lines * (2 * bytes + kRowGapBytes) <= kMaxPieceBytes) {
    bytes *= 2;
  }
  return bytes;
}
/// Shared bytes of a product; `element_bytes`: as its operands lie there.
TILEWIRE_CONSTEXPR int product_bytes(int rows, int columns, int depth, int element_bytes,
                                     int result_bytes) {
  const int lines = block_rows(rows) + block_columns(columns);
  const int staged = lines * (depth_bytes(lines, depth, element_bytes) + kRowGapBytes);
  const int moved = piece_bytes(block_rows(rows) * block_columns(columns), result_bytes);
  return staged > moved ? staged : moved;
}

}  // namespace tilewire::device

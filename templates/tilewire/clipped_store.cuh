// Stores of products into views that end before the tensor does: what lies inside goes by the tensor
// copy engine, at the view's edge the threads store what exists (staged_store.cuh).
#pragma once

#include "tilewire/staged_store.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

/// Element (i, j) of a tile exists where 0 <= row + i < row_bound, and likewise for columns.
template <typename T>
struct Clip {
  T* first;            ///< the tile's element (0, 0) in memory, whose rows are contiguous
  int64_t row_stride;  ///< elements; rows begin at multiples of 16 bytes
  int64_t row;
  int64_t row_bound;
  int64_t column;
  int64_t column_bound;
};

inline constexpr int64_t kNoBound = int64_t{1} << 62;
template <typename T>
TILEWIRE_DEVICE Clip<T> clip(T* first, int64_t row_stride, int64_t row, int64_t row_bound,
                             int64_t column, int64_t column_bound) {
  return {first, row_stride, row, row_bound, column, column_bound};
}

/// The part of [0, count) that exists, of what begins at `at`.
TILEWIRE_DEVICE void clip_range(int64_t at, int64_t bound, int count, int& first, int& last) {
  first = at < 0 ? static_cast<int>(at < -count ? count : -at) : 0;
  last = bound - at >= count ? count : bound > at ? static_cast<int>(bound - at) : 0;
}

/// Stores rows and columns [first, last) of a warp's piece, which lies `offset` bytes behind
/// `staging`, to `to`.
template <typename P, typename T>
TILEWIRE_DEVICE void copy_piece_rows(uint32_t staging, int offset, T* to, int64_t row_stride,
                                     int first_row, int last_row, int first_column,
                                     int last_column) {
  constexpr int kUnitElements = 16 / P::kElementBytes;
  constexpr int kUnits = P::kRowBytes / 16;  // of a row
  TILEWIRE_ROLLED
  for (int i = threadIdx.x % kWarpThreads; i < P::kRows * kUnits; i += kWarpThreads) {
    const int row = i / kUnits;
    const int column = i % kUnits * kUnitElements;
    const int begin = first_column > column ? first_column - column : 0;
    const int end = last_column < column + kUnitElements ? last_column - column : kUnitElements;
    if (row < first_row || row >= last_row || begin >= end) continue;
    alignas(16) uint4 unit;
    const uint32_t from = staging + swizzled(offset + i * 16, P::kRowBytes);
    asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(unit.x), "=r"(unit.y), "=r"(unit.z), "=r"(unit.w)
                 : "r"(from)
                 : "memory");
    T* const at = to + (row * row_stride + column);
    if (begin == 0 && end == kUnitElements) {
      *reinterpret_cast<uint4*>(at) = unit;
      continue;
    }
    const uint32_t words[] = {unit.x, unit.y, unit.z, unit.w};
    TILEWIRE_UNROLL
    for (int k = 0; k < kUnitElements; ++k) {
      const int bit = k * P::kElementBytes * 8;
      const uint32_t bits = words[bit / 32] >> bit % 32;
      if (k >= begin && k < end) __builtin_memcpy(at + k, &bits, P::kElementBytes);
    }
  }
}

/// As `store_staged`, of what exists of the tile.
template <int kStagingBytes, typename TileType, typename T, typename... Rest>
TILEWIRE_DEVICE void store_clipped(const TileType& tile, const TensorMap& map, void* staging,
                                   const Clip<T>& clip, int column, int row, Rest... rest) {
  store_pieces<kStagingBytes>(tile, staging, [&](auto piece, uint32_t base, int offset, int i,
                                                 int j) {
    using P = decltype(piece);
    int first_row, last_row, first_column, last_column;
    clip_range(clip.row + i, clip.row_bound, P::kRows, first_row, last_row);
    clip_range(clip.column + j, clip.column_bound, P::kBoxColumns, first_column, last_column);
    if (first_row == 0 && last_row == P::kRows && first_column == 0 &&
        last_column == P::kBoxColumns) {
      if (threadIdx.x % kWarpThreads != 0) return;
      const int at[] = {column + j, row + i, rest...};
      store_box(map, at, base + offset);
    } else {
      copy_piece_rows<P>(base, offset, clip.first + (i * clip.row_stride + j), clip.row_stride,
                         first_row, last_row, first_column, last_column);
      __syncwarp();
    }
  });
}

}  // namespace tilewire::device
#endif

// What is put of a tile that lies in staging memory: pieces without gaps.
#pragma once

#include "tilewire/memory.cuh"

namespace tilewire::device {

/// A tile, whose elements lie side by side in row-major order, as runs at its place in a view.
template <typename A>
struct TilePieces;
template <typename T, typename... Dims>
struct TilePieces<Access<T, Dims...>> {
  using A = Access<T, Dims...>;
  static constexpr int kRank = A::kRank;

  const A& access;
  int elements;  ///< of a piece

  explicit TILEWIRE_DEVICE TilePieces(const A& where) : access(where), elements(1) {
    const int sizes[] = {Dims::kSize...};
    if (sizes[kRank - 1] > 1 && access.strides[kRank - 1] != 1) return;
    elements = sizes[kRank - 1];
    TILEWIRE_UNROLL
    for (int i = kRank - 1; i > 0; --i) {
      const bool is_next = sizes[i - 1] == 1 || access.strides[i - 1] == elements;
      if (is_cut(i) || !is_next) return;
      elements *= sizes[i - 1];
    }
  }

  TILEWIRE_DEVICE int count() const { return A::kElements / elements; }

  /// Piece `index`: the offset of its first element from the access's pointer, and which of its
  /// elements exist. Its first element is the tile's number `index * elements`.
  TILEWIRE_DEVICE Run at(int index) const {
    const int sizes[] = {Dims::kSize...};
    const bool are_masked[] = {Dims::kIsMasked...};
    Run run = {0, 0, access.exists ? elements : 0};
    int inner = 1;
    TILEWIRE_UNROLL
    for (int i = kRank - 1; i >= 0; --i) {
      if (inner < elements) {
        const int step = inner;
        inner *= sizes[i];
        if (inner < elements || !are_masked[i]) continue;
        const int64_t first = -access.begins[i] * step;
        const int64_t last = (access.bounds[i] - access.begins[i]) * step;
        if (first > run.first) run.first = first;
        if (last < run.last) run.last = last;
        continue;
      }
      const int coordinate = index % sizes[i];
      index /= sizes[i];
      run.offset += coordinate * access.strides[i];
      if (!are_masked[i]) continue;
      const int64_t position = access.begins[i] + coordinate;
      if (position < 0 || position >= access.bounds[i]) run.last = 0;
    }
    return run;
  }

 private:
  /// Whether some of a dimension's elements don't exist.
  TILEWIRE_DEVICE bool is_cut(int i) const {
    const int sizes[] = {Dims::kSize...};
    const bool are_masked[] = {Dims::kIsMasked...};
    return are_masked[i] &&
           (access.begins[i] < 0 || access.begins[i] + sizes[i] > access.bounds[i]);
  }
};

}  // namespace tilewire::device

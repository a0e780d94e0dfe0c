// What a copy moves, as runs of bytes without gaps: extents and strides known at run time.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

/// One dimension of both views: so many elements, so many elements apart.
struct CopyDim {
  int64_t extent;
  int64_t to_stride;
  int64_t from_stride;
};

/// What is copied, in bytes: `rows` runs of `run` bytes, found by the outer dimensions.
template <int kOuter>
struct CopyRows {
  int64_t run;
  int64_t rows;
  CopyDim outer[kOuter > 0 ? kOuter : 1] = {};  ///< strides in bytes

  /// How far row `index` lies from row 0, in both. There are less than 2^31, where several
  /// dimensions say where.
  TILEWIRE_CONSTEXPR void offsets(int64_t index, int64_t& to, int64_t& from) const {
    to = from = 0;
    TILEWIRE_UNROLL
    for (int i = kOuter - 1; i >= 0; --i) {
      int64_t at = index;
      if (i > 0) {
        const auto extent = static_cast<uint32_t>(outer[i].extent);
        at = static_cast<uint32_t>(index) % extent;
        index = static_cast<uint32_t>(index) / extent;
      }
      to += at * outer[i].to_stride;
      from += at * outer[i].from_stride;
    }
  }
};

/// Takes dimensions that lie without gaps in both views together, outer ones moving inwards.
template <int kRank>
TILEWIRE_CONSTEXPR void join_runs(CopyDim (&all)[kRank]) {
  TILEWIRE_UNROLL
  for (int turn = 0; turn + 1 < kRank; ++turn) {
    CopyDim& inner = all[kRank - 1];
    const CopyDim outer = all[kRank - 2 < 0 ? 0 : kRank - 2];
    const bool is_one = outer.extent == 1;
    const bool is_run = outer.to_stride == inner.extent * inner.to_stride &&
                        outer.from_stride == inner.extent * inner.from_stride;
    const bool is_first = inner.extent == 1;
    if (!is_one && !is_run && !is_first) return;
    if (is_first && !is_one) {
      inner = outer;
    } else {
      inner.extent *= outer.extent;
    }
    TILEWIRE_UNROLL
    for (int i = kRank - 2; i > 0; --i) all[i] = all[i - 1];
    if constexpr (kRank > 1) all[0] = {1, 0, 0};
  }
}

}  // namespace tilewire::device

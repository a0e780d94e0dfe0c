// Arithmetic of what goes over the network: which ranks are out of reach of loads and stores, what
// lies in staging memory, and what a copy is as contiguous puts. For NVRTC and the host.
#pragma once

#include "tilewire/copy_rows.cuh"

namespace tilewire::device {

/// Which of a world's ranks a barrier over the network meets.
enum class NetworkTeam { kWorld, kRail };

/// The ranks out of reach of `rank`: of the world, or those with its place in other LSA teams.
/// World ranks of an LSA team are consecutive.
template <int kWorld, int kLsa>
struct FarRanks {
  static_assert(kLsa < kWorld && kWorld % kLsa == 0);

  static TILEWIRE_CONSTEXPR int count(NetworkTeam team) {
    return team == NetworkTeam::kWorld ? kWorld - kLsa : kWorld / kLsa - 1;
  }
  static TILEWIRE_CONSTEXPR bool is_far(int rank, int other) { return rank / kLsa != other / kLsa; }
  /// The i-th of them; those behind the rank's own come first, so that not all begin with one.
  static TILEWIRE_CONSTEXPR int at(int i, int rank, NetworkTeam team) {
    const int own_team = rank / kLsa;
    if (team == NetworkTeam::kWorld) return ((own_team + 1) * kLsa + i) % kWorld;
    return ((own_team + 1 + i) * kLsa + rank % kLsa) % kWorld;
  }
};

/// Tiles and messages lie in staging memory at multiples of it: a line of the L2 cache.
inline constexpr uint64_t kStagingAlignment = 128;

TILEWIRE_CONSTEXPR uint64_t staged_bytes(uint64_t bytes) {
  return (bytes + kStagingAlignment - 1) / kStagingAlignment * kStagingAlignment;
}

/// An instance's share of a lane's staging memory. It is used from its begin to its end, then,
/// behind a flush, from the begin on again.
struct StagingRing {
  uint64_t begin;  ///< bytes from the start of the lane's window, as the others
  uint64_t end;
  uint64_t next;

  static TILEWIRE_CONSTEXPR StagingRing of(uint64_t offset, uint64_t bytes, uint64_t instance,
                                           uint64_t num_instances) {
    const uint64_t share = bytes / num_instances / kStagingAlignment * kStagingAlignment;
    const uint64_t begin = offset + instance * share;
    return {begin, begin + share, begin};
  }
  TILEWIRE_CONSTEXPR bool has_room(uint64_t bytes) const {
    return next + staged_bytes(bytes) <= end;
  }
  TILEWIRE_CONSTEXPR uint64_t take(uint64_t bytes) {
    const uint64_t place = next;
    next += staged_bytes(bytes);
    return place;
  }
  TILEWIRE_CONSTEXPR void restart() { next = begin; }
};

/// A copy of views as `count` runs of `bytes` bytes without gaps on either side.
template <int kRank>
struct PutRuns {
  int64_t bytes;
  int64_t count;
  CopyDim dims[kRank];  ///< where runs lie; strides in bytes

  /// Extents and strides in elements of `element` bytes, from the outermost dimension on.
  static TILEWIRE_CONSTEXPR PutRuns of(const CopyDim (&dimensions)[kRank], int element) {
    PutRuns runs = {};
    CopyDim all[kRank] = {};
    runs.count = 1;
    TILEWIRE_UNROLL
    for (int i = 0; i < kRank; ++i) {
      all[i] = dimensions[i];
      if (all[i].extent < 0) all[i].extent = 0;
      runs.count *= all[i].extent;
    }
    runs.bytes = element;
    if (runs.count == 0) return runs;
    join_runs<kRank>(all);
    CopyDim& inner = all[kRank - 1];
    if (inner.extent == 1 || (inner.to_stride == 1 && inner.from_stride == 1)) {
      runs.bytes *= inner.extent;
      runs.count /= inner.extent;
      inner = {1, 0, 0};
    }
    TILEWIRE_UNROLL
    for (int i = 0; i < kRank; ++i) {
      runs.dims[i] = {all[i].extent, all[i].to_stride * element, all[i].from_stride * element};
    }
    return runs;
  }

  /// How far run `index` lies from the first one, on both sides.
  TILEWIRE_CONSTEXPR void offsets(int64_t index, int64_t& to, int64_t& from) const {
    to = from = 0;
    TILEWIRE_UNROLL
    for (int i = kRank - 1; i >= 0; --i) {
      const int64_t at = i == 0 ? index : index % dims[i].extent;
      if (i > 0) index /= dims[i].extent;
      to += at * dims[i].to_stride;
      from += at * dims[i].from_stride;
    }
  }
};

/// An offset that says: this element isn't put.
inline constexpr int64_t kNotPut = static_cast<int64_t>(uint64_t{1} << 63);

/// Up to which one, but not beyond `end`, the elements from `first` on lie side by side at their
/// offsets too, or are all left out.
TILEWIRE_CONSTEXPR int end_of_run(const int64_t* offsets, int first, int end) {
  const int64_t step = offsets[first] == kNotPut ? 0 : 1;
  int last = first + 1;
  while (last < end && offsets[last] == offsets[first] + step * (last - first)) ++last;
  return last;
}

}  // namespace tilewire::device

// Where other ranks' copies of symmetric memory lie. NCCL's `ncclGetLsaPointer` says the same,
// after loads of its structs that whoever stores to a peer would have to wait for.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/base.cuh"

namespace tilewire::device {

/// The copy of a rank, which counts as `own_rank` does.
TILEWIRE_DEVICE char* copy_at(const WindowHandle& object, int64_t rank, int64_t own_rank) {
  const int64_t distance = rank - own_rank;
  return static_cast<char*>(object.local) + distance * static_cast<int64_t>(object.stride);
}

/// Element 0 of the copy of a rank of the LSA team.
template <typename T>
TILEWIRE_DEVICE T* at_rank(const WindowHandle& window, const Lane& lane, int64_t rank) {
  return reinterpret_cast<T*>(copy_at(window, rank, lane.lsa_rank));
}

/// A place in the lane's memory at a rank of the LSA team.
TILEWIRE_DEVICE char* lane_at(const Lane& lane, int rank, uint64_t offset) {
  return reinterpret_cast<char*>(lane.lsa_base + lane.lsa_stride * rank + offset);
}

}  // namespace tilewire::device

// Deadlines for calls of NCCL's network, which may wait where no poll of tilewire's is: a flush for
// the network card, a put or a signal for room in a queue. Of NCCL's functions only the flush takes
// a timeout, since 2.31, and none says where it waits. So the last lane of the first warp makes no
// calls: it watches those that do. Lanes that have parted take turns where they look at memory, as
// all of NCCL's waits do; one that computes for ever would keep the watching lane out.
#pragma once

#include "tilewire/hang.cuh"

namespace tilewire::device {

inline constexpr int kNetworkThreads = 32;
/// Lanes that call NCCL, from the first one on.
inline constexpr int kNetworkCallers = kNetworkThreads - 1;
inline constexpr uint32_t kNetworkCallerLanes = (1u << kNetworkCallers) - 1;

/// How many lanes haven't returned from NCCL yet.
static __device__ __forceinline__ uint32_t* lanes_that_call() {
  __shared__ uint32_t lanes;
  return &lanes;
}

/// By the last lane, until all others have returned, or the host has ended all waits.
static __device__ __noinline__ void watch_calls(const Lane& lane, uint32_t site) {
  const volatile uint32_t* left = lanes_that_call();
  Deadline deadline(lane);
  while (*left != 0) {
    __nanosleep(20);  // the others want to run
    if (!deadline.is_due()) continue;
    const Wait wait = {lane.rank, linear_program_id(), site, kAnyPeer, 0};
    if (!deadline.keep_waiting(wait, *left)) return;
  }
}

/// `calls()` by each of the callers, by the whole first warp. Reported at `site` where it lasts,
/// and the end of the kernel where it lasts too long.
template <typename Calls>
TILEWIRE_DEVICE void watched(const Lane& lane, uint32_t site, const Calls& calls) {
  uint32_t* const left = lanes_that_call();
  if (threadIdx.x == 0) *left = kNetworkCallers;
  __syncwarp();
  if (threadIdx.x < kNetworkCallers) {
    calls();
    atomicSub(left, 1);
  } else {
    watch_calls(lane, site);
  }
  __syncwarp();
}

}  // namespace tilewire::device

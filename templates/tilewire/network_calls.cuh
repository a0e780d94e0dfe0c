// Calls of NCCL's network (`ncclGin`), each kind in one function: NCCL's code for all of its back
// ends is long. network.cuh calls them, for the first warp of a CTA, or for some of its lanes under
// `watched`.
#pragma once

#include <nccl_device.h>

#include "tilewire/abi.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/memory.cuh"
#include "tilewire/network_layout.cuh"
#include "tilewire/network_watch.cuh"
#include "tilewire/order.cuh"
#include "tilewire/tile_pieces.cuh"
#include "tilewire/wire.cuh"

namespace tilewire::device {

/// Adds to a signal, behind all earlier puts on the context to the same rank.
#if defined(TILEWIRE_GIN_STRONG_SIGNALS)  // since NCCL 2.30, which has weaker ones too
using NetworkSignal = ncclGin_StrongSignalAdd;
#else
using NetworkSignal = ncclGin_SignalAdd;
#endif

/// What was written before has been released by the caller's fence.
inline constexpr cuda::thread_scope kFenced = cuda::thread_scope_system;

/// A place in a rank's copy of a window, as NCCL names it.
struct NetworkPlace {
  ncclWindow_t window;
  uint64_t offset;  ///< bytes from the window's start
};
TILEWIRE_DEVICE NetworkPlace place_in(const WindowHandle& window, int64_t bytes) {
  return {static_cast<ncclWindow_t>(window.window), window.offset + bytes};
}

/// Whether the host or another wait has told all waits of the lane to end. The same in these lanes
/// of a warp, all of which ask.
TILEWIRE_DEVICE bool is_stopped(const Lane& lane, uint32_t lanes = ~0u) {
  uint32_t stop;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1]; // stop word"
               : "=r"(stop)
               : "l"(&lane.hang->stop)
               : "memory");
  return __any_sync(lanes, stop != 0);
}

static __device__ __noinline__ void network_put_bytes(const ncclDevComm& comm, uint32_t context,
                                                      int peer, NetworkPlace to, NetworkPlace from,
                                                      uint64_t bytes) {
  const ncclGin gin(comm, context);
  gin.put(ncclTeamWorld(comm), peer, to.window, to.offset, from.window, from.offset, bytes,
          ncclGin_None{}, ncclGin_None{}, ncclCoopThread{}, ncclGin_None{}, kFenced, kFenced);
}

/// A message and the signal that tells of it.
static __device__ __noinline__ void network_put_message(const ncclDevComm& comm, uint32_t context,
                                                        int peer, NetworkPlace to,
                                                        NetworkPlace from, uint64_t bytes,
                                                        uint32_t signal) {
  fence_system();
  const ncclGin gin(comm, context);
  gin.put(ncclTeamWorld(comm), peer, to.window, to.offset, from.window, from.offset, bytes,
          NetworkSignal{signal, 1}, ncclGin_None{}, ncclCoopThread{}, ncclGin_None{}, kFenced,
          kFenced);
}

template <typename Word>
static __device__ __noinline__ void network_put_word(const ncclDevComm& comm, uint32_t context,
                                                     int peer, NetworkPlace to, Word word) {
  const ncclGin gin(comm, context);
  gin.putValue(ncclTeamWorld(comm), peer, to.window, to.offset, word, ncclGin_None{},
               ncclCoopThread{}, ncclGin_None{}, kFenced, kFenced);
}

/// `kReleases`: what was written before is seen by whoever sees the signal.
template <bool kReleases>
static __device__ __noinline__ void network_add_signal(const ncclDevComm& comm, uint32_t context,
                                                       int peer, uint32_t signal, uint32_t n) {
  if constexpr (kReleases) fence_system();
  const ncclGin gin(comm, context);
  gin.signal(ncclTeamWorld(comm), peer, NetworkSignal{signal, n}, ncclCoopThread{}, ncclGin_None{},
             kFenced, kFenced);
}

/// By the whole first warp. A peer may be gone: where the host has told all waits to end, this one
/// does so too, before it begins, and since NCCL 2.31 within some milliseconds. `has_gets`: what
/// has been got is to be seen behind it; a flush with a timeout leaves that out where the host's
/// proxy does the work.
static __device__ __noinline__ void network_flush_puts(const ncclDevComm& comm, const Lane& lane,
                                                       uint32_t site, uint32_t context,
                                                       bool has_gets) {
  if (is_stopped(lane)) return;
  watched(lane, site, [&] {
    const ncclGin gin(comm, context);
    const ncclCoopLanes callers(kNetworkCallerLanes);
#if defined(TILEWIRE_GIN_TIMEOUTS)
    constexpr uint64_t kCycles = 10'000'000;
    TILEWIRE_ROLLED
    while (true) {
      const bool is_late =
          gin.flush(callers, cuda::memory_order_acquire, ncclGin_None{}, kCycles) != ncclSuccess;
      if (!__any_sync(kNetworkCallerLanes, is_late)) break;
      if (is_stopped(lane, kNetworkCallerLanes)) return;
    }
    if (!has_gets) return;
#endif
    gin.flush(callers);
  });
}

/// What has been added to a signal on one context; an acquire.
static __device__ __noinline__ uint32_t network_read_signal(const ncclDevComm& comm,
                                                            uint32_t context, uint32_t signal) {
  const ncclGin gin(comm, context);
  return static_cast<uint32_t>(gin.readSignal(signal, 32));
}

/// The same over all contexts: who signals may be any instance, on its own.
TILEWIRE_DEVICE uint32_t network_signals(const ncclDevComm& comm, const Lane& lane,
                                         uint32_t signal) {
  uint32_t sum = 0;
  TILEWIRE_ROLLED
  for (uint32_t context = 0; context < lane.num_contexts; ++context) {
    sum += network_read_signal(comm, context, signal);
  }
  return sum;
}

/// The same for who looks often, beside what peers in reach write: one context at each look.
/// Signals are only added to, so that the sum of earlier looks is no more than what there is.
class NetworkSignals {
 public:
  /// `at_least`: what has been seen before.
  TILEWIRE_DEVICE NetworkSignals(const ncclDevComm& comm, const Lane& lane, uint32_t signal,
                                 uint32_t at_least)
      : comm_(comm), lane_(lane), signal_(signal), sum_(at_least) {}

  /// Acquires what it has counted.
  TILEWIRE_DEVICE uint32_t look() {
    partial_ += network_read_signal(comm_, context_, signal_);
    if (++context_ == lane_.num_contexts) {
      sum_ = partial_;
      partial_ = context_ = 0;
    }
    return sum_;
  }

 private:
  const ncclDevComm& comm_;
  const Lane& lane_;
  const uint32_t signal_;
  uint32_t sum_;
  uint32_t partial_ = 0;  ///< of the contexts before the next one
  uint32_t context_ = 0;
};

/// Puts the runs of a copy, one by each calling lane of the first warp in turn. Single elements
/// travel in the message itself; `from_local`: where the source begins in this rank's memory.
template <int kElement, int kRank>
static __device__ __noinline__ void network_put_runs(const ncclDevComm& comm, const Lane& lane,
                                                     uint32_t site, uint32_t context, int peer,
                                                     NetworkPlace to, NetworkPlace from,
                                                     const char* from_local, PutRuns<kRank> runs) {
  watched(lane, site, [&] {
    using Word = typename Bits<kElement>::type;
    fence_system();
    TILEWIRE_ROLLED
    for (int64_t i = threadIdx.x; i < runs.count; i += kNetworkCallers) {
      int64_t to_offset;
      int64_t from_offset;
      runs.offsets(i, to_offset, from_offset);
      const NetworkPlace run_to = {to.window, to.offset + to_offset};
      if (runs.bytes == kElement) {
        const Word word = *reinterpret_cast<const volatile Word*>(from_local + from_offset);
        network_put_word(comm, context, peer, run_to, word);
      } else {
        network_put_bytes(comm, context, peer, run_to, {from.window, from.offset + from_offset},
                          runs.bytes);
      }
    }
  });
}

/// Puts what exists of a tile that lies staged, in pieces that lie side by side at both places.
/// `access`: its place in this rank's copy of the window, which is that in the peer's too.
template <typename A>
static __device__ __noinline__ void network_put_tile(const ncclDevComm& comm, const Lane& lane,
                                                     uint32_t site, uint32_t context, int peer,
                                                     NetworkPlace to, NetworkPlace from,
                                                     const A access) {
  watched(lane, site, [&] {
    constexpr int kElement = sizeof(*access.pointer);
    const TilePieces<A> pieces(access);
    fence_system();
    TILEWIRE_ROLLED
    for (int i = threadIdx.x; i < pieces.count(); i += kNetworkCallers) {
      const Run run = pieces.at(i);
      if (run.first >= run.last) continue;
      const int64_t first = int64_t{i} * pieces.elements + run.first;
      network_put_bytes(
          comm, context, peer, {to.window, to.offset + (run.offset + run.first) * kElement},
          {from.window, from.offset + first * kElement}, (run.last - run.first) * kElement);
    }
  });
}

/// Puts elements that lie staged to where their offsets say, in elements; neighbours together that
/// are neighbours there too. A thread takes a stretch of them.
static __device__ __noinline__ void network_put_elements(const ncclDevComm& comm, const Lane& lane,
                                                         uint32_t site, uint32_t context, int peer,
                                                         NetworkPlace to, NetworkPlace from,
                                                         const int64_t* offsets, int num_elements,
                                                         int element_bytes) {
  watched(lane, site, [&] {
    const int stretch = divide_up(num_elements, kNetworkCallers);
    int first = threadIdx.x * stretch;
    const int end = smaller(first + stretch, num_elements);
    fence_system();
    TILEWIRE_ROLLED
    while (first < end) {
      const int last = end_of_run(offsets, first, end);
      const int64_t offset = offsets[first];
      if (offset != kNotPut) {
        network_put_bytes(comm, context, peer, {to.window, to.offset + offset * element_bytes},
                          {from.window, from.offset + int64_t{first} * element_bytes},
                          int64_t{last - first} * element_bytes);
      }
      first = last;
    }
  });
}

#if defined(TILEWIRE_GIN_GET)  // since NCCL 2.30
/// Reads the runs of a copy from a peer; complete behind a flush.
template <int kElement, int kRank>
static __device__ __noinline__ void network_get_runs(const ncclDevComm& comm, const Lane& lane,
                                                     uint32_t site, uint32_t context, int peer,
                                                     NetworkPlace to, NetworkPlace from,
                                                     PutRuns<kRank> runs) {
  watched(lane, site, [&] {
    fence_system();
    const ncclGin gin(comm, context);
    TILEWIRE_ROLLED
    for (int64_t i = threadIdx.x; i < runs.count; i += kNetworkCallers) {
      int64_t to_offset;
      int64_t from_offset;
      runs.offsets(i, to_offset, from_offset);
      gin.get(ncclTeamWorld(comm), peer, from.window, from.offset + from_offset, to.window,
              to.offset + to_offset, runs.bytes);
    }
  });
}
#endif

}  // namespace tilewire::device

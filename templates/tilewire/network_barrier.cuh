// A barrier between one program instance of this rank and of each rank of a team that loads and
// stores don't reach, by a signal from each rank to each (NCCL before 2.30 has none that orders
// puts).
//
// Signals are numbered by slot and source, and only counted up: `consumed` in the lane says how
// many of each were waited for. An instance signals on the context on which it puts, so that who
// sees the signal sees all that was put there before.
#pragma once

#include "tilewire/network.cuh"
#include "tilewire/phases.cuh"

namespace tilewire::device {

/// Polls until a rank's signal has come, with deadline and report. One function for all barriers of
/// a kernel.
static __device__ __noinline__ void wait_for_network(const ncclDevComm& comm, uint32_t context,
                                                     uint32_t signal, uint32_t count,
                                                     const Lane& lane, uint32_t slot, uint32_t site,
                                                     uint32_t peer) {
  Deadline deadline(lane);
  while (true) {
    const uint32_t seen = network_read_signal(comm, context, signal);
    if (static_cast<int32_t>(seen - count) >= 0) return;
    if (!deadline.is_due()) continue;
    const Wait wait = {static_cast<uint32_t>(comm.rank), slot, site, peer, count};
    if (!deadline.keep_waiting(wait, seen)) return;
  }
}

/// By the first warp. As for `LsaBarrier`, what other threads wrote or put is released only after a
/// __syncthreads before `sync`, and may be relied on only after one behind it.
template <int kWorld, int kLsa>
class NetworkBarrier {
  using Far = FarRanks<kWorld, kLsa>;

 public:
  TILEWIRE_DEVICE NetworkBarrier(const ncclDevComm& comm, const Lane& lane, uint32_t slot)
      : comm_(comm), lane_(lane), slot_(slot) {}
  NetworkBarrier(const NetworkBarrier&) = delete;
  NetworkBarrier& operator=(const NetworkBarrier&) = delete;

  template <NetworkTeam kTeam, Order kOrder = Order::kAcqRel>
  TILEWIRE_DEVICE void sync(uint32_t site) {
    constexpr bool kReleases = kOrder == Order::kRelease || kOrder == Order::kAcqRel;
    if (threadIdx.x >= kNetworkThreads) return;
    const uint32_t context = slot_ % lane_.num_contexts;
    watched(lane_, site, [&] {
      TILEWIRE_ROLLED
      for (int i = threadIdx.x; i < Far::count(kTeam); i += kNetworkCallers) {
        network_add_signal<kReleases>(comm_, context, Far::at(i, comm_.rank, kTeam),
                                      signal_from(comm_.rank), 1);
      }
    });
    TILEWIRE_ROLLED
    for (int i = threadIdx.x; i < Far::count(kTeam); i += kNetworkThreads) {
      const int source = Far::at(i, comm_.rank, kTeam);
      uint32_t* const consumed = consumed_of(source);
      const uint32_t count = load_phase_gpu(consumed) + 1;
      *static_cast<volatile uint32_t*>(consumed) = count;
      wait_for_network(comm_, context, signal_from(source), count, lane_, slot_, site, source);
    }
  }

 private:
  TILEWIRE_DEVICE uint32_t signal_from(int source) const {
    return static_cast<uint32_t>(lane_.first_signal) + slot_ * kWorld + source;
  }
  TILEWIRE_DEVICE uint32_t* consumed_of(int source) const {
    char* const words = static_cast<char*>(lane_.local) + lane_.network_phase_offset;
    return reinterpret_cast<uint32_t*>(words) + slot_ * kWorld + source;
  }

  const ncclDevComm& comm_;
  const Lane& lane_;
  const uint32_t slot_;
};

}  // namespace tilewire::device

// A barrier between one program instance of every rank that loads and stores reach, with its state
// in a lane (abi.cuh).
//
// Each rank stores its new phase in every peer's inbox, then waits until all its own inbox words
// have reached that phase. Phases only grow (by signed difference: they may wrap around), so that
// nothing is ever reset, and a peer that is a phase ahead does no harm.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/layout.cuh"
#include "tilewire/order.cuh"
#include "tilewire/peer.cuh"
#include "tilewire/phases.cuh"

namespace tilewire::device {

/// Polls until the word has reached the phase, with deadline and report. One function for all
/// barriers of a kernel: they would otherwise be most of its code.
template <bool kAcquires>
static __device__ __noinline__ void wait_for_phase(uint32_t* word, uint32_t phase, const Lane& lane,
                                                   uint32_t slot, uint32_t site, uint32_t peer) {
  Deadline deadline(lane);
  while (true) {
    const uint32_t seen = poll_phase<kAcquires>(word);
    if (static_cast<int32_t>(seen - phase) >= 0) return;
    if (!deadline.is_due()) continue;
    if (!deadline.keep_waiting({lane.rank, slot, site, peer, phase}, seen)) return;
  }
}

/// One instance's end of the barrier. The phase is read when it is made and stored at each `sync`.
/// `kThreads` threads take part; none of the functions synchronises them:
/// what other threads wrote is released only after a __syncthreads before `sync`, and may be
/// relied on only after one behind it.
template <int kRanks, int kThreads>
class LsaBarrier {
  static_assert(kRanks > 1);

 public:
  TILEWIRE_DEVICE LsaBarrier(const Lane& lane, uint32_t slot) : lane_(lane), slot_(slot) {
    if (threadIdx.x >= kRanks - 1) return;
    phase_ = *phase_word();  // on its way until `sync` needs it
    to_ = inbox(peer(threadIdx.x)) + lane_.lsa_rank;
  }
  LsaBarrier(const LsaBarrier&) = delete;
  LsaBarrier& operator=(const LsaBarrier&) = delete;

  /// Tells every peer that this instance is here, then waits for all of them. `site` numbers the
  /// line of the program in hang reports. Without a release, loads before it must still be over:
  /// a __syncthreads behind them sees to that.
  template <Order kOrder = Order::kAcqRel>
  TILEWIRE_DEVICE void sync(uint32_t site) {
    constexpr bool kReleases = kOrder == Order::kRelease || kOrder == Order::kAcqRel;
    constexpr bool kAcquires = kOrder == Order::kAcquire || kOrder == Order::kAcqRel;
    if (threadIdx.x >= kRanks - 1) return;
    // With the store, a release. It stands before the phase is needed, which may be on its way.
    if constexpr (kReleases) fence_system();
    phase_ += 1;
    store_phase<kReleases>(to_, phase_);
    for (int i = threadIdx.x + kThreads; i < kRanks - 1; i += kThreads) {
      store_phase<kReleases>(inbox(peer(i)) + lane_.lsa_rank, phase_);
    }
    if (threadIdx.x == 0)
      *phase_word() = phase_;  // for the next launch, while peers are on the way
    for (int i = threadIdx.x; i < kRanks - 1; i += kThreads) wait<kAcquires>(peer(i), site);
  }

 private:
  /// The i-th of the other ranks.
  TILEWIRE_DEVICE int peer(int i) const { return i + (i >= lane_.lsa_rank ? 1 : 0); }

  TILEWIRE_DEVICE uint32_t* phase_word() const {
    return reinterpret_cast<uint32_t*>(static_cast<char*>(lane_.local) + lane_.phase_offset) +
           slot_;
  }
  /// This slot's words in a peer's inbox, one per source rank.
  TILEWIRE_DEVICE uint32_t* inbox(int rank) const {
    return reinterpret_cast<uint32_t*>(lane_at(lane_, rank, lane_.barrier_offset)) + slot_ * kRanks;
  }

  template <bool kAcquires>
  TILEWIRE_DEVICE void wait(int source, uint32_t site) {
    char* own = static_cast<char*>(lane_.local) + lane_.barrier_offset;
    uint32_t* word = reinterpret_cast<uint32_t*>(own) + slot_ * kRanks + source;
    const uint32_t peer = lane_.rank - lane_.lsa_rank + source;
    wait_for_phase<kAcquires>(word, phase_, lane_, slot_, site, peer);
  }

  const Lane& lane_;
  const uint32_t slot_;
  uint32_t phase_ = 0;
  uint32_t* to_ = nullptr;  ///< this rank's word in the inbox of this thread's first peer
};

}  // namespace tilewire::device

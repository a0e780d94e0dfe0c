// A barrier between one program instance of every rank that loads and stores reach, over NCCL's
// addresses and with its state in a lane (abi.cuh).
//
// Each rank stores its new phase in every peer's inbox, then waits until all its own inbox words
// have reached that phase. Phases only grow (by signed difference: they may wrap around), so that
// nothing is ever reset, and a peer that is a phase ahead does no harm.
#pragma once

#include <nccl_device.h>

#include "tilewire/abi.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/layout.cuh"

namespace tilewire::device {

/// Which side of a barrier orders memory; both by default.
enum class Order { kRelaxed, kAcquire, kRelease, kAcqRel };

TILEWIRE_DEVICE void store_phase(uint32_t* word, uint32_t phase, bool release) {
  if (release) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(word), "r"(phase) : "memory");
  } else {
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(word), "r"(phase) : "memory");
  }
}

TILEWIRE_DEVICE uint32_t load_phase(uint32_t* word, bool acquire) {
  uint32_t phase;
  if (acquire) {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(phase) : "l"(word) : "memory");
  } else {
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(phase) : "l"(word) : "memory");
  }
  return phase;
}

/// One instance's end of the barrier. The phase is read when it is made and stored when it goes
/// out of scope. `kThreads` threads take part; none of the functions synchronises them:
/// what other threads wrote is released only after a __syncthreads before `sync`, and may be
/// relied on only after one behind it.
template <int kRanks, int kThreads>
class LsaBarrier {
 public:
  TILEWIRE_DEVICE LsaBarrier(const ncclDevComm& comm, const Lane& lane, uint32_t slot)
      : comm_(comm), lane_(lane), slot_(slot) {
    if (threadIdx.x < smaller(kRanks, kThreads)) phase_ = *phase_word();
  }
  TILEWIRE_DEVICE ~LsaBarrier() {
    if (threadIdx.x == 0) *phase_word() = phase_;
  }
  LsaBarrier(const LsaBarrier&) = delete;
  LsaBarrier& operator=(const LsaBarrier&) = delete;

  /// Tells every peer that this instance is here, then waits for all of them. `site` numbers the
  /// line of the program in hang reports.
  template <Order kOrder = Order::kAcqRel>
  TILEWIRE_DEVICE void sync(uint32_t site) {
    constexpr bool kReleases = kOrder == Order::kRelease || kOrder == Order::kAcqRel;
    constexpr bool kAcquires = kOrder == Order::kAcquire || kOrder == Order::kAcqRel;
    phase_ += 1;
    const int first = threadIdx.x;
    if constexpr (kRanks - 1 <= kThreads) {
      if (first >= kRanks - 1) return;
      store_phase(inbox(peer(first)) + comm_.lsaRank, phase_, kReleases);
      wait(peer(first), site, kAcquires);
    } else {
      for (int i = first; i < kRanks - 1; i += kThreads) {
        store_phase(inbox(peer(i)) + comm_.lsaRank, phase_, kReleases);
      }
      for (int i = first; i < kRanks - 1; i += kThreads) wait(peer(i), site, kAcquires);
    }
  }

 private:
  /// The i-th of the other ranks.
  TILEWIRE_DEVICE int peer(int i) const { return i + (i >= comm_.lsaRank ? 1 : 0); }

  TILEWIRE_DEVICE uint32_t* phase_word() const {
    return reinterpret_cast<uint32_t*>(static_cast<char*>(lane_.local) + lane_.phase_offset) +
           slot_;
  }
  /// This slot's words in a peer's inbox, one per source rank.
  TILEWIRE_DEVICE uint32_t* inbox(int rank) const {
    void* words = ncclGetLsaPointer(static_cast<ncclWindow_t>(lane_.window), lane_.barrier_offset,
                                    rank);
    return static_cast<uint32_t*>(words) + slot_ * kRanks;
  }

  TILEWIRE_DEVICE void wait(int source, uint32_t site, bool acquire) {
    char* own = static_cast<char*>(lane_.local) + lane_.barrier_offset;
    uint32_t* word = reinterpret_cast<uint32_t*>(own) + slot_ * kRanks + source;
    uint32_t seen = load_phase(word, acquire);
    if (static_cast<int32_t>(seen - phase_) >= 0) return;
    Deadline deadline(lane_);
    do {
      if (deadline.is_due()) {
        // World ranks of an LSA team are consecutive.
        const uint32_t peer = comm_.rank - comm_.lsaRank + source;
        if (!deadline.keep_waiting({0, static_cast<uint32_t>(comm_.rank), slot_, site, peer, phase_,
                                    seen, 0})) {
          return;
        }
      }
      seen = load_phase(word, acquire);
    } while (static_cast<int32_t>(seen - phase_) < 0);
  }

  const ncclDevComm& comm_;
  const Lane& lane_;
  const uint32_t slot_;
  uint32_t phase_ = 0;
};

}  // namespace tilewire::device

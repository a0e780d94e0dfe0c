// Barriers of all program instances: of this rank, or of all ranks that loads and stores reach.
//
// A word counts arrivals: its low 16 bits those of a phase under way, the others the phases that
// are over. Each instance adds 1; instance 0 adds what is then missing to the next phase. So a word
// is at rest with low bits of 0, whatever the size of the grid, no launch resets anything, and it
// may wrap around (signed differences). Between ranks, each instance adds to a word of its own
// rank's in every rank's memory and waits for all words in its own: one hop, without a leader.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/order.cuh"
#include "tilewire/peer.cuh"
#include "tilewire/phases.cuh"

namespace tilewire::device {

/// What this instance adds: `slot` is its linear program id.
TILEWIRE_DEVICE uint32_t arrival_of(uint32_t slot) {
  const uint32_t num_instances = gridDim.x * gridDim.y * gridDim.z;
  return slot == 0 ? kGridPhase - (num_instances - 1) : 1;
}

TILEWIRE_DEVICE uint32_t* grid_word(const void* lane_memory, const Lane& lane, uint32_t source) {
  const char* words = static_cast<const char*>(lane_memory) + lane.grid_offset;
  return reinterpret_cast<uint32_t*>(const_cast<char*>(words) + source * kGridWordBytes);
}

/// Polls until the word has reached `target`, with deadline and report. `kIsSystem`: peers write
/// it.
template <bool kIsSystem, bool kAcquires>
static __device__ __noinline__ void wait_for_arrivals(uint32_t* word, uint32_t target,
                                                      const Lane& lane, uint32_t slot,
                                                      uint32_t site, uint32_t peer) {
  Deadline deadline(lane);
  while (true) {
    uint32_t seen;
    if constexpr (kIsSystem) {
      seen = poll_phase<kAcquires>(word);
    } else {
      seen = poll_phase_gpu<kAcquires>(word);
    }
    if (static_cast<int32_t>(seen - target) >= 0) return;
    if (!deadline.is_due()) continue;
    const Wait wait = {lane.rank, slot, site, peer, target / kGridPhase};
    if (!deadline.keep_waiting(wait, seen / kGridPhase)) return;
  }
}

/// All instances of this rank, by the first thread of each. As for `LsaBarrier`, what other threads
/// wrote is released only after a __syncthreads before `sync`, and may be relied on only after one
/// behind it.
class LocalGridBarrier {
 public:
  TILEWIRE_DEVICE LocalGridBarrier(const Lane& lane, uint32_t slot) : lane_(lane), slot_(slot) {
    if (threadIdx.x != 0) return;
    word_ = grid_word(lane.local, lane, lane.lsa_size);
    phase_ = load_phase_gpu(word_);  // on its way until `sync` needs it
  }
  LocalGridBarrier(const LocalGridBarrier&) = delete;
  LocalGridBarrier& operator=(const LocalGridBarrier&) = delete;

  template <Order kOrder = Order::kAcqRel>
  TILEWIRE_DEVICE void sync(uint32_t site) {
    constexpr bool kReleases = kOrder == Order::kRelease || kOrder == Order::kAcqRel;
    constexpr bool kAcquires = kOrder == Order::kAcquire || kOrder == Order::kAcqRel;
    if (threadIdx.x != 0) return;
    if constexpr (kReleases) fence<Scope::kGpu>();
    // Until this instance has arrived, no phase ends: the word's own is the one under way.
    phase_ = next_grid_phase(phase_);
    arrive_gpu<kReleases>(word_, arrival_of(slot_));
    wait_for_arrivals<false, kAcquires>(word_, phase_, lane_, slot_, site, lane_.rank);
  }

 private:
  const Lane& lane_;
  const uint32_t slot_;
  uint32_t* word_ = nullptr;
  uint32_t phase_ = 0;
};

/// All instances of all ranks that loads and stores reach, by the first warp of each.
template <int kRanks>
class LsaGridBarrier {
  static_assert(kRanks > 1);
  static constexpr int kLanes = kRanks < 32 ? kRanks : 32;

 public:
  TILEWIRE_DEVICE LsaGridBarrier(const Lane& lane, uint32_t slot) : lane_(lane), slot_(slot) {
    if (threadIdx.x >= kLanes) return;
    phase_ = load_phase(own_word(lane_.lsa_rank));  // on its way until `sync` needs it
    to_ = word_at(threadIdx.x);
  }
  LsaGridBarrier(const LsaGridBarrier&) = delete;
  LsaGridBarrier& operator=(const LsaGridBarrier&) = delete;

  template <Order kOrder = Order::kAcqRel>
  TILEWIRE_DEVICE void sync(uint32_t site) {
    constexpr bool kReleases = kOrder == Order::kRelease || kOrder == Order::kAcqRel;
    constexpr bool kAcquires = kOrder == Order::kAcquire || kOrder == Order::kAcqRel;
    if (threadIdx.x >= 32) return;
    const int first = threadIdx.x;
    const uint32_t arrival = arrival_of(slot_);
    if constexpr (kReleases) fence_system();
    if (first < kLanes) {
      if (first != lane_.lsa_rank) arrive_system<kReleases>(to_, arrival);
      for (int rank = first + kLanes; rank < kRanks; rank += kLanes) {
        if (rank != lane_.lsa_rank) arrive_system<kReleases>(word_at(rank), arrival);
      }
      phase_ = next_grid_phase(phase_);
    }
    // All lanes know the phase before this rank's own word can reach it.
    __syncwarp();
    if (first >= kLanes) return;
    if (first == lane_.lsa_rank % kLanes)
      arrive_system<kReleases>(own_word(lane_.lsa_rank), arrival);
    for (int source = first; source < kRanks; source += kLanes) {
      const uint32_t peer = lane_.rank - lane_.lsa_rank + source;
      wait_for_arrivals<true, kAcquires>(own_word(source), phase_, lane_, slot_, site, peer);
    }
  }

 private:
  /// This rank's word, at a rank of the team.
  TILEWIRE_DEVICE uint32_t* word_at(int rank) const {
    return grid_word(lane_at(lane_, rank, 0), lane_, lane_.lsa_rank);
  }
  /// Here, the word of a rank of the team.
  TILEWIRE_DEVICE uint32_t* own_word(int source) const {
    return grid_word(lane_.local, lane_, source);
  }

  const Lane& lane_;
  const uint32_t slot_;
  uint32_t phase_ = 0;
  uint32_t* to_ = nullptr;  ///< at the first rank that this lane arrives at
};

}  // namespace tilewire::device

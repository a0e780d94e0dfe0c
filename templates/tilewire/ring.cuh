// A ring of slots in shared memory between a producer, which starts copies into them, and the
// consumers that multiply out of them: barriers say which slots are full and which are free.
#pragma once

#include "tilewire/roles.cuh"
#include "tilewire/staged_layout.cuh"
#include "tilewire/tma.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

/// A slot that is being filled.
template <int kClusterSize>
struct Filling {
  uint32_t slot;  ///< its address in shared memory
  uint32_t full;  ///< the barrier that counts its bytes

  /// Starts to load a staged tile to byte `kOffset` of the slot, a multiple of 1024. Coordinates of
  /// the tile's first element, in the map's order: along the contiguous dimension, along the
  /// operand's other one, then any others.
  template <typename S, int kOffset, typename... Rest>
  TILEWIRE_DEVICE void load(const TensorMap& map, int inner, int outer, Rest... rest) const {
    static_assert(kOffset % kStagedAlignment == 0);
    static_assert(S::kShares == 1 || S::kShares == kClusterSize);
    const int share = S::kShares > 1 ? cluster_rank() : 0;
    TILEWIRE_UNROLL
    for (int i = 0; i < S::kBoxes; ++i) {
      const uint32_t to = slot + kOffset + S::box_offset(i, share);
      const int at[] = {inner + S::box_inner(i), outer + S::box_outer(i, share), rest...};
      if constexpr (S::kShares > 1) {
        load_box_for((1 << kClusterSize) - 1, to, map, full, at);
      } else {
        load_box(to, map, full, at);
      }
    }
  }
};

/// `kStages` slots of `kSlotBytes` bytes, of which a filling loads as many as it says (parts of
/// tiles that other CTAs load count, zeros outside of a tensor too). With `kClusterSize` > 1, CTAs
/// of a cluster fill each other's slots: all of them fill and empty their rings equally often, and
/// a slot is free when it is free in all of them.
///
/// A thread's object is its own: the producer's and a consumer's state go separate ways.
template <int kStages, int kSlotBytes, int kThreads, int kClusterSize = 1>
class Ring {
 public:
  static constexpr int kWarps = kThreads / kWarpThreads;
  /// Of the barriers; the slots have kStages * kSlotBytes.
  static constexpr int kBarriersBytes = 2 * kStages * kBarrierBytes;
  static_assert(kSlotBytes % kStagedAlignment == 0);

  /// By all threads of the CTA, producer included. `slots` is aligned to 1024 bytes.
  TILEWIRE_DEVICE Ring(void* slots, void* barriers)
      : slots_(barrier_address(slots)), barriers_(barrier_address(barriers)) {
    if (threadIdx.x == 0) {
      TILEWIRE_UNROLL
      for (int i = 0; i < kStages; ++i) {
        init_barrier(full(i), 1);
        init_barrier(free(i), kWarps * kClusterSize);
      }
      fence_barrier_init();
    }
    if constexpr (kClusterSize > 1) {
      meet_cluster();
    } else {
      __syncthreads();
    }
  }

  /// The producer's thread: the next slot, once it is free, for so many bytes.
  template <int kBytes = kSlotBytes>
  TILEWIRE_DEVICE Filling<kClusterSize> fill() {
    static_assert(kBytes <= kSlotBytes);
    wait_barrier(free(stage_), phase_ ^ 1);
    arrive_expecting(full(stage_), kBytes);
    const Filling<kClusterSize> result{slots_ + stage_ * kSlotBytes, full(stage_)};
    advance();
    return result;
  }

  /// A consumer: the address of the next slot, once it is full.
  TILEWIRE_DEVICE uint32_t wait() {
    wait_barrier(full(stage_), phase_);
    return slots_ + stage_ * kSlotBytes;
  }
  /// To the slot behind. The one that was waited for stays this consumer's until it is released;
  /// all that came before have to be released.
  TILEWIRE_DEVICE void hold() {
    advance();
    is_held_ = true;
  }
  /// Gives the slot back that was held before the one waited for, or the last; by whole warps, once
  /// nothing of theirs reads it.
  TILEWIRE_DEVICE void release() {
    const int held = stage_ == 0 ? kStages - 1 : stage_ - 1;
    if (is_held_) arrive_free(held);
    is_held_ = false;
  }

  /// Lets the next slot go by, which nothing of this consumer reads. No slot is held.
  TILEWIRE_DEVICE void skip() {
    wait();
    hold();
    release();
  }

  /// At the end, by all threads of the CTA: from here on no other CTA writes to this one.
  TILEWIRE_DEVICE void leave() {
    if constexpr (kClusterSize > 1) {
      __syncwarp();
      meet_cluster();
    }
  }

 private:
  TILEWIRE_DEVICE uint32_t full(int stage) const { return barriers_ + stage * kBarrierBytes; }
  TILEWIRE_DEVICE uint32_t free(int stage) const {
    return barriers_ + (kStages + stage) * kBarrierBytes;
  }
  TILEWIRE_DEVICE void advance() {
    ++stage_;
    if (stage_ == kStages) {
      stage_ = 0;
      phase_ ^= 1;
    }
  }
  TILEWIRE_DEVICE void arrive_free(int stage) const {
    const uint32_t lane = threadIdx.x % kWarpThreads;
    if constexpr (kClusterSize > 1) {
      if (lane < kClusterSize) arrive_at(free(stage), lane);
    } else {
      if (lane == 0) arrive(free(stage));
    }
  }

  uint32_t slots_;
  uint32_t barriers_;
  int stage_ = 0;
  uint32_t phase_ = 0;
  bool is_held_ = false;
};

}  // namespace tilewire::device
#endif

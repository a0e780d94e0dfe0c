// The roles of a CTA that multiplies out of shared memory: threads 0 … kThreads - 1, whole
// warpgroups, are its consumers, and do all that a kernel without roles does; the warpgroup behind
// them is the producer, one thread of which fills the ring. Another warp of it may move tiles.
#pragma once

#include "tilewire/fragment_layout.cuh"
#include "tilewire/mbarrier.cuh"

namespace tilewire::device {

/// Registers of a thread after `give_registers`, `take_registers`: 64 K in all, in eights. What a
/// kernel starts with is the even share, which is enough for one consumer warpgroup.
TILEWIRE_CONSTEXPR int producer_registers(int threads) {
  return threads == 2 * kWarpgroupThreads ? 40 : 32;
}
TILEWIRE_CONSTEXPR int consumer_registers(int threads, int producer) {
  const int warpgroups = threads / kWarpgroupThreads;
  const int all = warpgroups == 2 ? 3 * 168 : 4 * 128;
  return (all - producer) / warpgroups / 8 * 8;
}

#if defined(__CUDACC__)
template <int kThreads>
TILEWIRE_DEVICE bool is_producer() {
  return threadIdx.x >= kThreads;
}

/// Of the producer's threads, the one that works. Whole warps ask.
template <int kThreads>
TILEWIRE_DEVICE bool is_loader() {
  return threadIdx.x / kWarpThreads == kThreads / kWarpThreads && is_elected();
}

/// Which warp of the producer's this is, by whole warps: the compiler sees that it is the same for
/// all lanes, so that a branch on it keeps a warp together, and what is the same for all lanes in
/// registers that they share.
template <int kThreads>
TILEWIRE_DEVICE int producer_warp() {
  const int warp = static_cast<int>(threadIdx.x / kWarpThreads) - kThreads / kWarpThreads;
  return __shfl_sync(0xffffffff, warp, 0);
}
inline constexpr int kLoaderWarp = 0;
inline constexpr int kMoverWarp = 1;  ///< (mover.cuh)

/// First in the producer's branch.
template <int kThreads, int kProducer = producer_registers(kThreads)>
TILEWIRE_DEVICE void give_registers() {
  if constexpr (kThreads > kWarpgroupThreads) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kProducer));
  }
}
/// First in the consumers' branch.
template <int kThreads, int kProducer = producer_registers(kThreads)>
TILEWIRE_DEVICE void take_registers() {
  if constexpr (kThreads > kWarpgroupThreads) {
    asm volatile(
        "setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(consumer_registers(kThreads, kProducer)));
  }
}
#endif

}  // namespace tilewire::device

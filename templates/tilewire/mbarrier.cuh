// Barriers in shared memory (sm_90 and newer): phases that end when so many arrivals were made and
// so many bytes copied as they wait for. `barrier` is an address in shared memory.
#pragma once

#include "tilewire/bulk_copy.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

inline constexpr int kBarrierBytes = 8;

/// True in one lane of a whole warp, always the same. The compiler knows that it is one: what
/// follows needs no loop over lanes.
TILEWIRE_DEVICE bool is_elected() {
  uint32_t result;
  asm volatile(
      "{\n\t"
      ".reg .pred elected;\n\t"
      "elect.sync _|elected, 0xffffffff;\n\t"
      "selp.u32 %0, 1, 0, elected;\n\t"
      "}"
      : "=r"(result));
  return result != 0;
}

TILEWIRE_DEVICE uint32_t barrier_address(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}
TILEWIRE_DEVICE void init_barrier(uint32_t barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialised barriers known to the copy engine and to other CTAs of the cluster; a barrier
/// of the threads concerned has to follow.
TILEWIRE_DEVICE void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
/// Arrives; the phase also waits for `num_bytes` bytes more.
TILEWIRE_DEVICE void arrive_expecting(uint32_t barrier, int num_bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
               "r"(num_bytes)
               : "memory");
}
TILEWIRE_DEVICE void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives at the same barrier of CTA `rank` of the cluster. Releases nothing to it that threads
/// wrote: a fence for the cluster would cost more than the products it stands between.
TILEWIRE_DEVICE void arrive_at(uint32_t barrier, uint32_t rank) {
  asm volatile(
      "{\n\t"
      ".reg .b32 there;\n\t"
      "mapa.shared::cluster.u32 there, %0, %1;\n\t"
      "mbarrier.arrive.shared::cluster.b64 _, [there];\n\t"
      "}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// Waits until the phase of that parity is over. Every phase ends: what it waits for are copies
/// that were started, and threads that wait with a deadline themselves.
TILEWIRE_DEVICE void wait_barrier(uint32_t barrier, uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "again:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// This CTA's number in its cluster.
TILEWIRE_DEVICE uint32_t cluster_rank() {
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// A barrier of all threads of all CTAs of the cluster.
TILEWIRE_DEVICE void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

}  // namespace tilewire::device
#endif

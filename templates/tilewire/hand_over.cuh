// What the consumers of a kernel with roles have acquired, its producer may bring.
#pragma once

#include "tilewire/bulk_copy.cuh"
#include "tilewire/meet.cuh"

namespace tilewire::device {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
/// Counts how often the consumers have acquired what others wrote. Made by all threads, before
/// whatever makes the CTA's threads meet for the first time.
class HandOver {
 public:
  TILEWIRE_DEVICE explicit HandOver(uint32_t& count) : count_(count) {
    if (threadIdx.x == 0) count_ = 0;
  }

  /// By all consumers: what any of them has acquired, the producer sees behind its `await`.
  TILEWIRE_DEVICE void give() {
    meet();
    ++number_;
    if (threadIdx.x != 0) return;
    asm volatile("st.release.cta.shared::cta.u32 [%0], %1;" ::"r"(shared_address(&count_)),
                 "r"(number_)
                 : "memory");
  }

  /// By the producer's thread: its loads through the async proxy come behind.
  TILEWIRE_DEVICE void await() {
    ++number_;
    uint32_t seen;
    do {
      asm volatile("ld.acquire.cta.shared::cta.u32 %0, [%1];"
                   : "=r"(seen)
                   : "r"(shared_address(&count_))
                   : "memory");
    } while (static_cast<int32_t>(seen - number_) < 0);
    fence_proxy_async();
  }

 private:
  uint32_t& count_;
  uint32_t number_ = 0;
};
#endif

}  // namespace tilewire::device

// Numbers that the producer of a kernel with roles draws and its consumers need too.
#pragma once

#include "tilewire/mbarrier.cuh"

#if defined(__CUDACC__)
namespace tilewire::device {

/// A ring of them in shared memory: the producer is at most `kIndices` ahead of the consumers'
/// slowest warp. A thread's object is its own: the producer's and a consumer's state go separate
/// ways.
template <int kThreads>
class IndexRing {
  static constexpr int kIndices = 4;
  static constexpr int kWarps = kThreads / kWarpThreads;

 public:
  static constexpr int kBytes = kIndices * (sizeof(int64_t) + 2 * kBarrierBytes);

  /// By all threads of the CTA, producer included, which meet behind it. `shared`: `kBytes`.
  explicit TILEWIRE_DEVICE IndexRing(void* shared)
      : indices_(static_cast<int64_t*>(shared)), barriers_(barrier_address(indices_ + kIndices)) {
    if (threadIdx.x != 0) return;
    TILEWIRE_UNROLL
    for (int i = 0; i < kIndices; ++i) {
      init_barrier(full(i), 1);
      init_barrier(free(i), kWarps);
    }
  }

  /// By the producer's thread: the consumers take what it gives in the same order.
  TILEWIRE_DEVICE int64_t give(int64_t index) {
    wait_barrier(free(place_), phase_ ^ 1);
    indices_[place_] = index;
    arrive(full(place_));
    advance();
    return index;
  }

  /// By all consumers, in whole warps.
  TILEWIRE_DEVICE int64_t take() {
    wait_barrier(full(place_), phase_);
    const int64_t index = indices_[place_];
    __syncwarp();
    if (threadIdx.x % kWarpThreads == 0) arrive(free(place_));
    advance();
    return index;
  }

 private:
  TILEWIRE_DEVICE uint32_t full(int place) const { return barriers_ + place * kBarrierBytes; }
  TILEWIRE_DEVICE uint32_t free(int place) const { return full(kIndices + place); }
  TILEWIRE_DEVICE void advance() {
    place_ = place_ + 1 == kIndices ? 0 : place_ + 1;
    if (place_ == 0) phase_ ^= 1;
  }

  int64_t* indices_;
  uint32_t barriers_;
  int place_ = 0;
  uint32_t phase_ = 0;
};

}  // namespace tilewire::device
#endif

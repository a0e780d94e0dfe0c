// The book-keeping of a two-sided launch (launch_log.cuh), by the last thread of instance 0: the
// first ones are those that barriers keep busy.
#pragma once

#include "tilewire/launch_log.cuh"

namespace tilewire::device {

/// Lives as long as the instance does: every way out of the kernel passes through the destructor.
/// No step of it makes another thread wait: what the entry asks for has come by the time of the
/// first `announce`, and the exit's loads are on their way while the instance's last stores are.
template <int kThreads>
class LaunchGuard {
 public:
  TILEWIRE_DEVICE LaunchGuard(const Lane& lane, uint32_t rank)
      : lane_(lane),
        rank_(rank),
        is_first_((blockIdx.x | blockIdx.y | blockIdx.z) == 0 && threadIdx.x == kThreads - 1) {
    if (!is_first_) return;
    LaunchWords* words = launch_words(lane_);
    asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1; // launch log" ::"l"(&words->busy),
                 "r"(lane_.launch_hash)
                 : "memory");
    // One more, around after 2^31: an addition would be made for the whole warp at once, which
    // would wait for its result here.
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0x7fffffff; // launch log"
                 : "=r"(number_)
                 : "l"(&words->num_launches)
                 : "memory");
    is_silent_ = true;
  }
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;

  /// Before the first wait, behind what was sent: tells the peers which launch this is. Later calls
  /// do nothing.
  TILEWIRE_DEVICE void announce() {
    if (!is_silent_) return;
    announce_launch(lane_, number_ + 1);
    is_silent_ = false;
  }

  TILEWIRE_DEVICE ~LaunchGuard() {
    announce();
    if (is_first_) leave(lane_, rank_);
  }

 private:
  static __device__ __noinline__ void leave(const Lane& lane, uint32_t rank) {
    launches_fit(lane, rank, false);
    asm volatile(
        "red.relaxed.gpu.global.add.u32 [%0], %1; // launch log" ::"l"(&launch_words(lane)->busy),
        "r"(-lane.launch_hash)
        : "memory");
  }

  const Lane& lane_;
  const uint32_t rank_;
  const bool is_first_;
  bool is_silent_ = false;
  uint32_t number_ = 0;  ///< of launches before this one
};

}  // namespace tilewire::device

// The book-keeping of a two-sided launch (launch_log.cuh), by the last threads of instance 0: the
// first ones are those that barriers keep busy.
#pragma once

#include "tilewire/launch_log.cuh"

namespace tilewire::device {

/// Lives as long as the instance does: every way out of the kernel passes through the destructor.
/// No step of it makes another thread wait: what the entry asks for has come by the time of the
/// first `announce`, what that looks at comes while messages are on their way, and the exit asks
/// for nothing. A thread for each peer, so that no look at one waits for that at another.
template <int kThreads>
class LaunchGuard {
 public:
  TILEWIRE_DEVICE explicit LaunchGuard(const Lane& lane) : lane_(lane) {
    if ((blockIdx.x | blockIdx.y | blockIdx.z) != 0 || index() >= lane_.lsa_size - 1) return;
    if (index() == 0) {
      asm volatile("atom.relaxed.gpu.global.exch.b32 %0, [%1], %2; // launch log"
                   : "=r"(running_)
                   : "l"(running_launch(lane_)), "r"(lane_.launch_hash)
                   : "memory");
    }
    // One more, around after 2^31: an addition would be made for the whole warp at once, which
    // would wait for its result here.
    asm volatile("atom.relaxed.gpu.global.inc.u32 %0, [%1], 0x7fffffff; // launch log"
                 : "=r"(number_)
                 : "l"(num_launches(lane_, peer(index())))
                 : "memory");
  }
  LaunchGuard(const LaunchGuard&) = delete;
  LaunchGuard& operator=(const LaunchGuard&) = delete;

  /// Before the first wait, behind what was sent: tells the peers which launch this is, and looks
  /// at what they told of the one before. Later calls do nothing.
  TILEWIRE_DEVICE void announce() {
    if (number_ == kTold) return;
    const uint32_t before = number_;
    const uint32_t number = before + 1;
    number_ = kTold;
    if (index() == 0) {
      tell(lane_, lane_.lsa_rank, number);
      if (running_ != 0) report_misfit(lane_, lane_.rank, lane_.launch_hash, running_);
    }
    TILEWIRE_ROLLED
    for (uint32_t i = index(); i < lane_.lsa_size - 1; i += kThreads) {
      tell(lane_, peer(i), number);
      const uint64_t own = told(lane_, lane_.lsa_rank, before);
      const uint64_t theirs = told(lane_, peer(i), before);
      if (own >> 32 != theirs >> 32 || own == theirs) continue;
      report_misfit(lane_, lane_.rank - lane_.lsa_rank + peer(i), static_cast<uint32_t>(own),
                    static_cast<uint32_t>(theirs));
    }
  }

  TILEWIRE_DEVICE ~LaunchGuard() {
    announce();
    if ((blockIdx.x | blockIdx.y | blockIdx.z) != 0 || index() != 0) return;
    asm volatile("st.relaxed.gpu.global.u32 [%0], 0; // launch log" ::"l"(running_launch(lane_))
                 : "memory");
  }

 private:
  static TILEWIRE_DEVICE uint32_t index() { return kThreads - 1 - threadIdx.x; }
  /// The i-th of the team's other ranks.
  TILEWIRE_DEVICE uint32_t peer(uint32_t i) const { return i + (i >= lane_.lsa_rank ? 1 : 0); }

  static constexpr uint32_t kTold = ~uint32_t{0};  ///< beyond all numbers

  const Lane& lane_;
  uint32_t running_ = 0;     ///< hash of a launch of the lane that hasn't ended; 0: there is none
  uint32_t number_ = kTold;  ///< of launches before this one, while the peers aren't told
};

}  // namespace tilewire::device

// Deadlines: no wait is silent for ever. Written in PTX where the compiler would spend time on
// optimising what hardly ever runs.
#pragma once

#include "tilewire/group.cuh"
#include "tilewire/hang_report.cuh"
#include "tilewire/launch_log.cuh"

namespace tilewire::device {

/// This instance's number in its launch.
TILEWIRE_DEVICE uint32_t linear_program_id() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

/// A wait that only the host can end early.
inline constexpr uint64_t kNoDeadline = ~uint64_t{0};

/// The clock of one wait of a thread of the group. Host memory is far away: it is looked at once in
/// `kPolls` polls.
template <typename Group = ProgramThreads>
class Deadline {
 public:
  /// `timeout_ns`: the lane's, or kNoDeadline: no report either.
  TILEWIRE_DEVICE explicit Deadline(const Lane& lane, uint64_t timeout_ns)
      : lane_(lane),
        timeout_ns_(timeout_ns),
        report_after_ns_(timeout_ns == kNoDeadline ? kNoDeadline : lane.report_after_ns) {}
  TILEWIRE_DEVICE explicit Deadline(const Lane& lane) : Deadline(lane, lane.timeout_ns) {}

  /// Once in a while: time to call `keep_waiting`.
  TILEWIRE_DEVICE bool is_due() { return ++num_polls_ % kPolls == 0; }

  /// Reports a wait that lasts long, and ends the kernel where it lasts too long or was told to.
  /// False: leave the wait, since the host gave up or the launches don't fit together.
  TILEWIRE_DEVICE bool keep_waiting(const Wait& wait, uint32_t seen) {
    const uint64_t now = global_time_ns();
    if (start_ == 0) start_ = now;
    HangPage* page = lane_.hang;
    uint32_t stop;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1]; // stop word"
                 : "=r"(stop)
                 : "l"(&page->stop)
                 : "memory");
    if (stop >= 2) return false;
    if (now - start_ >= compare_after_ns_) {
      compare_after_ns_ += kCompareEveryNs;
      if (lane_.launch_hash != 0 && !launches_fit<Group>(lane_)) return false;
    }
    const bool is_over = stop == 1 || now - start_ >= timeout_ns_;
    if (is_over || now - start_ >= report_after_ns_) {
      report_after_ns_ = ~uint64_t{0};
      write_report(lane_, wait, seen, is_over);
    }
    if (is_over) {
      exchange_system(&page->stop, 1);
      fence_system();
      while (global_time_ns() - now < kGraceNs) __nanosleep(10000);  // the others report
      __trap();
    }
    return true;
  }

 private:
  static constexpr uint32_t kPolls = 1024;
  static constexpr uint64_t kGraceNs = 100'000'000;
  static constexpr uint64_t kCompareEveryNs = 1'000'000'000;

  const Lane& lane_;
  uint32_t num_polls_ = 0;
  uint64_t start_ = 0;
  uint64_t compare_after_ns_ = kCompareEveryNs;
  uint64_t timeout_ns_;
  uint64_t report_after_ns_;
};

}  // namespace tilewire::device

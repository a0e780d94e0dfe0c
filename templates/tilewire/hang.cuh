// Deadlines: no wait is silent for ever. Written in PTX where the compiler would spend time on
// optimising what hardly ever runs.
#pragma once

#include "tilewire/hang_report.cuh"
#include "tilewire/launch_log.cuh"

namespace tilewire::device {

/// The clock of one wait. Host memory is far away: it is looked at once in `kPolls` polls.
class Deadline {
 public:
  TILEWIRE_DEVICE explicit Deadline(const Lane& lane) : lane_(lane) {}

  /// Once in a while: time to call `keep_waiting`.
  TILEWIRE_DEVICE bool is_due() { return ++num_polls_ % kPolls == 0; }

  /// Reports a wait that lasts long, and ends the kernel where it lasts too long or was told to.
  /// False: leave the wait, since the host gave up or the launches don't fit together.
  TILEWIRE_DEVICE bool keep_waiting(const Wait& wait, uint32_t seen) {
    const uint64_t now = global_time_ns();
    if (start_ == 0) start_ = now;
    HangPage* page = lane_.hang;
    uint32_t stop;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(stop) : "l"(&page->stop) : "memory");
    if (stop >= 2) return false;
    if (!has_compared_ && now - start_ >= kCompareAfterNs) {
      has_compared_ = true;
      if (lane_.launch_hash != 0 && !launches_fit(lane_, wait.rank, true)) return false;
    }
    const bool is_over = stop == 1 || now - start_ >= lane_.timeout_ns;
    if (is_over || now - start_ >= report_after_ns_) {
      report_after_ns_ = ~uint64_t{0};
      write_report(page, wait, seen, is_over);
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
  static constexpr uint64_t kCompareAfterNs = 1'000'000'000;

  const Lane& lane_;
  uint32_t num_polls_ = 0;
  uint64_t start_ = 0;
  bool has_compared_ = false;
  uint64_t report_after_ns_ = lane_.report_after_ns;
};

}  // namespace tilewire::device

// Deadlines: no wait is silent for ever.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/base.cuh"

namespace tilewire::device {

TILEWIRE_DEVICE uint64_t global_time_ns() {
  uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

TILEWIRE_DEVICE void pause_ns(uint64_t duration) {
  const uint64_t start = global_time_ns();
  while (global_time_ns() - start < duration) __nanosleep(10000);
}

/// The clock of one wait. Host memory is far away: it is looked at once in `kPolls` polls.
class Deadline {
 public:
  TILEWIRE_DEVICE explicit Deadline(const Lane& lane) : lane_(lane) {}

  /// Once in a while: time to call `keep_waiting`.
  TILEWIRE_DEVICE bool is_due() { return ++num_polls_ % kPolls == 0; }

  /// Reports a wait that lasts long, and ends the kernel where it lasts too long or was told to.
  /// False: leave the wait, another rank or the host gave up.
  TILEWIRE_DEVICE bool keep_waiting(HangReport report) {
    const uint64_t now = global_time_ns();
    if (start_ == 0) start_ = now;
    HangPage* page = lane_.hang;
    const uint32_t stop = *const_cast<volatile uint32_t*>(&page->stop);
    if (stop == 2) return false;
    const bool is_over = stop == 1 || now - start_ >= lane_.timeout_ns;
    if (is_over || (!is_reported_ && now - start_ >= lane_.report_after_ns)) {
      report.final = is_over ? 1 : 0;
      // The kernel's sites are numbered on from those of other kernels (runtime/driver/wait_sites).
      report.site += lane_.site_base;
      write(page, report);
      is_reported_ = true;
    }
    if (is_over) {
      *const_cast<volatile uint32_t*>(&page->stop) = 1;
      __threadfence_system();
      pause_ns(kGraceNs);  // the others report
      __trap();
    }
    return true;
  }

 private:
  static constexpr uint32_t kPolls = 1024;
  static constexpr uint64_t kGraceNs = 100'000'000;

  TILEWIRE_DEVICE static void write(HangPage* page, HangReport report) {
    const uint32_t index = atomicAdd_system(&page->num_reports, 1u);
    if (index >= kMaxHangReports) return;
    HangReport* to = &page->reports[index];
    if (atomicExch_system(&to->state, 1u) != 0) return;
    report.state = 1;
    *to = report;
    __threadfence_system();
    atomicExch_system(&to->state, 2u);
    __threadfence_system();
  }

  const Lane& lane_;
  uint32_t num_polls_ = 0;
  bool is_reported_ = false;
  uint64_t start_ = 0;
};

}  // namespace tilewire::device

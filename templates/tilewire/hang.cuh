// Deadlines: no wait is silent for ever. Written in PTX where the compiler would spend time on
// optimising what hardly ever runs.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/base.cuh"

namespace tilewire::device {

TILEWIRE_DEVICE uint64_t global_time_ns() {
  uint64_t time;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
  return time;
}

TILEWIRE_DEVICE void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

TILEWIRE_DEVICE uint32_t exchange_system(uint32_t* word, uint32_t value) {
  uint32_t before;
  asm volatile("atom.relaxed.sys.global.exch.b32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(word), "r"(value)
               : "memory");
  return before;
}

TILEWIRE_DEVICE uint32_t add_system(uint32_t* word, uint32_t value) {
  uint32_t before;
  asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(word), "r"(value)
               : "memory");
  return before;
}

TILEWIRE_DEVICE void store_two(uint32_t* to, uint32_t first, uint32_t second) {
  asm volatile("st.volatile.global.v2.u32 [%0], {%1, %2};" ::"l"(to), "r"(first), "r"(second)
               : "memory");
}

/// Who waits, where, for whom, and for what.
struct Wait {
  uint32_t rank;
  uint32_t program_id;  ///< linear
  uint32_t site;
  uint32_t peer;  ///< world rank
  uint32_t expected;
};

/// The clock of one wait. Host memory is far away: it is looked at once in `kPolls` polls.
class Deadline {
 public:
  TILEWIRE_DEVICE explicit Deadline(const Lane& lane) : lane_(lane) {}

  /// Once in a while: time to call `keep_waiting`.
  TILEWIRE_DEVICE bool is_due() { return ++num_polls_ % kPolls == 0; }

  /// Reports a wait that lasts long, and ends the kernel where it lasts too long or was told to.
  /// False: leave the wait, the host gave up.
  TILEWIRE_DEVICE bool keep_waiting(const Wait& wait, uint32_t seen) {
    const uint64_t now = global_time_ns();
    if (start_ == 0) start_ = now;
    HangPage* page = lane_.hang;
    uint32_t stop;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(stop) : "l"(&page->stop) : "memory");
    if (stop == 2) return false;
    const bool is_over = stop == 1 || now - start_ >= lane_.timeout_ns;
    if (is_over || now - start_ >= report_after_ns_) {
      report_after_ns_ = ~uint64_t{0};
      write(page, wait, seen, is_over);
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

  TILEWIRE_DEVICE static void write(HangPage* page, const Wait& wait, uint32_t seen, bool is_over) {
    const uint32_t kind = is_over ? 1 : 0;
    const uint32_t index = add_system(&page->num_reports[kind], 1);
    if (index >= kMaxHangReports) return;
    HangReport* to = &page->reports[kind][index];
    if (exchange_system(&to->state, 1) != 0) return;
    store_two(&to->state, 1, wait.rank);
    store_two(&to->program_id, wait.program_id, wait.site);
    store_two(&to->peer, wait.peer, wait.expected);
    store_two(&to->seen, seen, kind);
    fence_system();
    exchange_system(&to->state, 2);
    fence_system();
  }

  const Lane& lane_;
  uint32_t num_polls_ = 0;
  uint64_t start_ = 0;
  uint64_t report_after_ns_ = lane_.report_after_ns;
};

}  // namespace tilewire::device

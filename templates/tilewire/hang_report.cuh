// Reports to the host: one page of its memory per lane, which it can read even after a trap.
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
  asm volatile("atom.relaxed.sys.global.exch.b32 %0, [%1], %2; // report"
               : "=r"(before)
               : "l"(word), "r"(value)
               : "memory");
  return before;
}

TILEWIRE_DEVICE uint32_t add_system(uint32_t* word, uint32_t value) {
  uint32_t before;
  asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], %2; // report"
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
  uint32_t site;        ///< of the kernel's
  uint32_t peer;        ///< world rank, or kAnyPeer
  uint32_t expected;
};

/// Writes a report where the lane's page has room; `final`: the launch ends. The process numbers
/// the sites of all its kernels through.
TILEWIRE_DEVICE void write_report(const Lane& lane, const Wait& wait, uint32_t seen,
                                  bool is_final) {
  HangPage* page = lane.hang;
  const uint32_t kind = is_final ? 1 : 0;
  const uint32_t index = add_system(&page->num_reports[kind], 1);
  if (index >= kMaxHangReports) return;
  HangReport* to = &page->reports[kind][index];
  if (exchange_system(&to->state, 1) != 0) return;
  store_two(&to->state, 1, wait.rank);
  store_two(&to->program_id, wait.program_id, lane.site_base + wait.site);
  store_two(&to->peer, wait.peer, wait.expected);
  store_two(&to->seen, seen, kind);
  fence_system();
  exchange_system(&to->state, 2);
  fence_system();
}

}  // namespace tilewire::device

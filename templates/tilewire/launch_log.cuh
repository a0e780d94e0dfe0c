// Launches that don't fit together: two of one lane at once, or other ones on the peers.
//
// Instance 0 of each two-sided launch adds its hash to a word of its own rank while it runs, and
// stores hash and number at every peer. Nobody waits for that: whoever leaves a launch, or has
// waited for long, compares what has come. Everything here is relaxed and orders nothing.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/base.cuh"

namespace tilewire::device {

TILEWIRE_DEVICE LaunchWords* launch_words(const Lane& lane) {
  return reinterpret_cast<LaunchWords*>(static_cast<char*>(lane.local) + lane.launch_offset);
}

/// What `holder` has heard from `source`; both are ranks of the LSA team.
TILEWIRE_DEVICE uint64_t* launch_log(const Lane& lane, uint32_t holder, uint32_t source) {
  const uint64_t words =
      lane.lsa_base + lane.lsa_stride * holder + lane.launch_offset + kLaunchLogOffset;
  return reinterpret_cast<uint64_t*>(words) + source * kLoggedLaunches;
}

/// Tells every rank of the team, this one too, which launch has this number.
TILEWIRE_DEVICE void announce_launch(const Lane& lane, uint32_t number) {
  const uint64_t entry = uint64_t{number} << 32 | lane.launch_hash;
  TILEWIRE_ROLLED
  for (uint32_t rank = 0; rank < lane.lsa_size; ++rank) {
    uint64_t* to = launch_log(lane, rank, lane.lsa_rank) + number % kLoggedLaunches;
    asm volatile("st.relaxed.sys.global.u64 [%0], %1; // launch log" ::"l"(to), "l"(entry)
                 : "memory");
  }
}

TILEWIRE_DEVICE void load_launches(const uint64_t* from, uint64_t (&to)[kLoggedLaunches]) {
  TILEWIRE_UNROLL
  for (uint32_t i = 0; i < kLoggedLaunches; i += 2) {
    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2]; // launch log"
                 : "=l"(to[i]), "=l"(to[i + 1])
                 : "l"(from + i)
                 : "memory");
  }
}

/// Whether the launches of the lane fit together, as far as this rank knows. Where they don't, this
/// rank's waits return and its later launches raise. `rank`: this one's in the world, whose ranks
/// of one LSA team are consecutive. `announces`: for a wait that lasts long, in case instance 0
/// didn't come to that yet. One function for all who ask: it would otherwise be much of a small
/// kernel's code.
static __device__ __noinline__ bool launches_fit(const Lane& lane, uint32_t rank, bool announces) {
  if (announces) {
    uint32_t number;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1]; // launch log"
                 : "=r"(number)
                 : "l"(&launch_words(lane)->num_launches)
                 : "memory");
    announce_launch(lane, number);
  }
  uint32_t busy;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1]; // launch log"
               : "=r"(busy)
               : "l"(&launch_words(lane)->busy)
               : "memory");
  uint64_t own[kLoggedLaunches];
  load_launches(launch_log(lane, lane.lsa_rank, lane.lsa_rank), own);
  uint32_t peer = rank;
  uint32_t mine = lane.launch_hash;
  uint32_t other = busy == 0 ? 0 : busy - mine;  // 0: instance 0 has left already
  TILEWIRE_ROLLED
  for (uint32_t source = 0; source < lane.lsa_size; ++source) {
    if (source == lane.lsa_rank) continue;
    uint64_t theirs[kLoggedLaunches];
    load_launches(launch_log(lane, lane.lsa_rank, source), theirs);
    TILEWIRE_UNROLL
    for (uint32_t i = 0; i < kLoggedLaunches; ++i) {
      // Of one number, but not the same.
      if (own[i] == theirs[i] || own[i] >> 32 != theirs[i] >> 32) continue;
      peer = rank - lane.lsa_rank + source;
      mine = static_cast<uint32_t>(own[i]);
      other = static_cast<uint32_t>(theirs[i]);
    }
  }
  if (other == 0) return true;
  Misfit* report = &lane.hang->misfit;
  asm volatile(
      "{\n"
      ".reg .b32 before;\n"
      ".reg .pred is_first;\n"
      "atom.relaxed.sys.global.cas.b32 before, [%0], 0, 3; // report\n"
      "setp.eq.u32 is_first, before, 0;\n"
      "@is_first st.volatile.global.v4.u32 [%1], {1, %2, %3, %4};\n"
      "}" ::"l"(&lane.hang->stop),
      "l"(report), "r"(peer), "r"(mine), "r"(other)
      : "memory");
  return false;
}

}  // namespace tilewire::device

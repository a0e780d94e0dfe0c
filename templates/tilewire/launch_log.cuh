// Launches that don't fit together: two of one lane at once, or other ones on the peers.
//
// Instance 0 of each two-sided launch leaves its hash in a word of its own rank while it runs, and
// stores hash and number at every peer. Nobody waits for that: each launch, before it waits for the
// first time, looks at what was told of the launch before, and whoever has waited for long at all
// that has come. Everything here is relaxed and orders nothing.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/base.cuh"

namespace tilewire::device {

/// The hash of the launch that runs now, or 0.
TILEWIRE_DEVICE uint32_t* running_launch(const Lane& lane) {
  return reinterpret_cast<uint32_t*>(static_cast<char*>(lane.local) + lane.launch_offset);
}

/// What `holder` has heard from `source`; both are ranks of the LSA team.
TILEWIRE_DEVICE LaunchLog* launch_log(const Lane& lane, uint32_t holder, uint32_t source) {
  const uint64_t logs =
      lane.lsa_base + lane.lsa_stride * holder + lane.launch_offset + kLaunchLogOffset;
  return reinterpret_cast<LaunchLog*>(logs) + source;
}

/// How many launches have told this peer of themselves. Alike for all peers.
TILEWIRE_DEVICE uint32_t* num_launches(const Lane& lane, uint32_t peer) {
  return &launch_log(lane, lane.lsa_rank, peer)->num_told;
}

/// Tells a rank of the team which launch has this number.
TILEWIRE_DEVICE void tell(const Lane& lane, uint32_t rank, uint32_t number) {
  uint64_t* to = &launch_log(lane, rank, lane.lsa_rank)->launches[number % kLoggedLaunches];
  asm volatile("st.relaxed.sys.global.u64 [%0], %1; // launch log" ::"l"(to),
               "l"(uint64_t{number} << 32 | lane.launch_hash)
               : "memory");
}

/// What a rank of the team has told of the launch with this number, or of an earlier one.
TILEWIRE_DEVICE uint64_t told(const Lane& lane, uint32_t rank, uint32_t number) {
  const uint64_t* from = &launch_log(lane, lane.lsa_rank, rank)->launches[number % kLoggedLaunches];
  uint64_t launch;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1]; // launch log"
               : "=l"(launch)
               : "l"(from)
               : "memory");
  return launch;
}

/// The launches of the lane don't fit together: this rank's waits return and its later launches
/// raise. `peer`: the world rank that launched `other` where this one launched `mine`; this rank
/// itself where it launched both at once.
TILEWIRE_DEVICE void report_misfit(const Lane& lane, uint32_t peer, uint32_t mine, uint32_t other) {
  asm volatile(
      "{\n"
      ".reg .b32 before;\n"
      ".reg .pred is_first;\n"
      "atom.relaxed.sys.global.cas.b32 before, [%0], 0, 3; // report\n"
      "setp.eq.u32 is_first, before, 0;\n"
      "@is_first st.volatile.global.v4.u32 [%1], {1, %2, %3, %4};\n"
      "}" ::"l"(&lane.hang->stop),
      "l"(&lane.hang->misfit), "r"(peer), "r"(mine), "r"(other)
      : "memory");
}

/// For a wait that lasts long, whose instance 0 may not have come to telling the peers: whether the
/// launches of the lane fit together, as far as this rank knows; reports it where they don't.
template <typename Group>
static __device__ __noinline__ bool launches_fit(const Lane& lane) {
  uint32_t running;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1]; // launch log"
               : "=r"(running)
               : "l"(running_launch(lane))
               : "memory");
  // 0: instance 0 has left.
  bool fit = running == 0 || running == lane.launch_hash;
  if (!fit) report_misfit(lane, lane.rank, lane.launch_hash, running);
  TILEWIRE_ROLLED
  for (uint32_t peer = 0; peer < lane.lsa_size; ++peer) {
    if (peer == lane.lsa_rank) continue;
    uint32_t number;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1]; // launch log"
                 : "=r"(number)
                 : "l"(num_launches(lane, peer))
                 : "memory");
    tell(lane, lane.lsa_rank, number);
    tell(lane, peer, number);
    TILEWIRE_ROLLED
    for (uint32_t i = 0; i < kLoggedLaunches; ++i) {
      const uint64_t own = told(lane, lane.lsa_rank, i);
      const uint64_t theirs = told(lane, peer, i);
      if (own >> 32 != theirs >> 32 || own == theirs) continue;
      report_misfit(lane, lane.rank - lane.lsa_rank + peer, static_cast<uint32_t>(own),
                    static_cast<uint32_t>(theirs));
      fit = false;
    }
  }
  return fit;
}

}  // namespace tilewire::device

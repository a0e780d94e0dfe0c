// Flags: how often each was set in this launch of those that take the array (launch_state.cuh).
// Functions for all threads of a CTA, none of which synchronises them: what other threads wrote is
// released only after a __syncthreads before a set, and may be relied on only after one behind a
// wait. Waits may be the producer's thread's alone (`Group`).
//
// A flag has a word for each of kFlagWords launches in turn: the one that is running, those that
// peers may be behind or ahead in, and one that nobody uses, which every launch clears.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/group.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/object_layout.cuh"
#include "tilewire/object_slice.cuh"
#include "tilewire/order.cuh"
#include "tilewire/phases.cuh"

namespace tilewire::device {

TILEWIRE_DEVICE uint32_t* flag_word(uint32_t* flag, int64_t launch) {
  return &reinterpret_cast<FlagElement*>(flag)->count[flag_turn(launch)];
}

/// Counts one set, here or at a peer. `kTold`: where who waits for this flag may be; `kScope`:
/// where anybody who sets it may be.
///
/// A fence and a relaxed addition: where nothing new was written since, later ones need no fence.
template <Order kOrder, Scope kTold, Scope kScope = kTold, typename Group = ProgramThreads>
TILEWIRE_DEVICE void set_flag(uint32_t* flag, int64_t launch) {
  constexpr bool kReleases = kOrder == Order::kRelease;
  if (Group::index() != 0) return;
  if constexpr (kReleases) fence<kTold>();
  uint32_t* word = flag_word(flag, launch);
  if constexpr (kScope == Scope::kGpu) {
    arrive_gpu<kReleases>(word, 1);
  } else if constexpr (kReleases && kTold == Scope::kGpu) {
    arrive_here(word, 1);
  } else {
    arrive_system<kReleases>(word, 1);
  }
}

/// One thread's wait until the flag was set `count` times in this launch, or filled for it. One
/// function for all waits of a group: they would otherwise be most of its code.
template <Scope kScope, typename Group>
static __device__ __noinline__ void wait_for_flag(uint32_t* flag, int64_t launch, uint32_t count,
                                                  const Lane& lane, uint32_t site,
                                                  uint64_t timeout_ns) {
  const uint32_t* word = flag_word(flag, launch);
  const int64_t* filled = &reinterpret_cast<FlagElement*>(flag)->filled;
  Deadline<Group> deadline(lane, timeout_ns);
  while (true) {
    // Beside the count, which must not wait for it: where the fill has come, it is acquired then.
    const int64_t fill = load_relaxed<kScope>(filled);
    const uint32_t seen = load_acquire<kScope>(word);
    if (seen >= count) return;
    if (fill >= launch && load_acquire<kScope>(filled) >= launch) return;
    if (!deadline.is_due()) continue;
    if (!deadline.keep_waiting({lane.rank, linear_program_id(), site, kAnyPeer, count}, seen))
      return;
  }
}

/// A wait for one flag of this rank's. `timeout_ns`: `kNoDeadline`, or the lane's.
template <Scope kScope, typename Group = ProgramThreads>
TILEWIRE_DEVICE void wait_flag(uint32_t* flag, int64_t launch, uint32_t count, const Lane& lane,
                               uint32_t site, uint64_t timeout_ns) {
  if (Group::index() == 0) {
    wait_for_flag<kScope, Group>(flag, launch, count, lane, site, timeout_ns);
  }
  Group::acquired();
}

#if defined(__CUDACC__)
/// Of an array's first flags, in shared memory: for which a thread has waited in this launch. What
/// was set so often stays so until the launch ends.
struct SeenFlags {
  static constexpr int kFlags = 1024;
  uint32_t bits[kFlags / 32];

  /// By all threads of the CTA, which meet behind it.
  TILEWIRE_DEVICE void clear() {
    if (threadIdx.x < kFlags / 32) bits[threadIdx.x] = 0;
  }
};

/// `wait_flag` of a group that is one thread, which always waits for the same `count`: polls a flag
/// of `array` once.
template <Scope kScope, typename Group>
TILEWIRE_DEVICE void wait_flag_once(SeenFlags& seen, const void* array, uint32_t* flag,
                                    int64_t launch, uint32_t count, const Lane& lane, uint32_t site,
                                    uint64_t timeout_ns) {
  const uint64_t number =
      static_cast<uint64_t>(reinterpret_cast<char*>(flag) - static_cast<const char*>(array)) /
      sizeof(FlagElement);
  if (number < SeenFlags::kFlags) {
    uint32_t& bits = seen.bits[number / 32];
    const uint32_t bit = 1u << number % 32;
    if ((bits & bit) != 0) return;
    bits |= bit;
  }
  wait_flag<kScope, Group>(flag, launch, count, lane, site, timeout_ns);
}
#endif

/// A wait for all flags of a slice, polled side by side by the `kThreads` threads of the group.
template <Scope kScope, int kThreads, typename Group = ProgramThreads, typename Slice>
TILEWIRE_DEVICE void wait_flags(Slice slice, uint32_t* first, int64_t launch, uint32_t count,
                                const Lane& lane, uint32_t site, uint64_t timeout_ns) {
  TILEWIRE_ROLLED
  for (int i = Group::index(); i < Slice::kElements; i += kThreads) {
    uint32_t* flag = first + slice(i) * (sizeof(FlagElement) / sizeof(uint32_t));
    wait_for_flag<kScope, Group>(flag, launch, count, lane, site, timeout_ns);
  }
  Group::acquired();
}

/// Clears the words that the launch after the next one counts in: this instance's share of an array
/// in this rank's memory. All peers must have ended launch - 2, and all threads must know.
template <int kThreads>
TILEWIRE_DEVICE void clear_flags(void* array, int world_size, uint64_t num_flags, int64_t launch) {
  auto* flags =
      reinterpret_cast<FlagElement*>(static_cast<char*>(array) + flag_offset(world_size, 0));
  const uint64_t num_threads = 1ull * gridDim.x * gridDim.y * gridDim.z * kThreads;
  for (uint64_t i = 1ull * linear_program_id() * kThreads + threadIdx.x; i < num_flags;
       i += num_threads) {
    flags[i].count[flag_turn(launch + 2)] = 0;
  }
}

}  // namespace tilewire::device

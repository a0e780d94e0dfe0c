// Counting semaphores (object_layout.cuh says how they lie in memory). Functions for all threads of
// a CTA, none of which synchronises them: what other threads wrote is released only after a
// __syncthreads before a signal, and may be relied on only after one behind a wait.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/group.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/object_layout.cuh"
#include "tilewire/object_slice.cuh"
#include "tilewire/order.cuh"
#include "tilewire/phases.cuh"

namespace tilewire::device {

/// Adds to a semaphore, here or at a peer. `kTold`: where who waits for this one may be; `kScope`:
/// where anybody who signals it may be.
///
/// A fence and a relaxed addition: where nothing new was written since, later ones need no fence.
template <Order kOrder, Scope kTold, Scope kScope = kTold, typename Group = ProgramThreads>
TILEWIRE_DEVICE void signal_semaphore(uint64_t* cell, uint32_t n) {
  constexpr bool kReleases = kOrder == Order::kRelease;
  if (Group::index() != 0) return;
  if constexpr (kReleases) fence<kTold>();
  uint32_t* signals = &reinterpret_cast<SemaphoreCell*>(cell)->signals;
  if constexpr (kScope == Scope::kGpu) {
    arrive_gpu<kReleases>(signals, n);
  } else if constexpr (kReleases && kTold == Scope::kGpu) {
    arrive_here(signals, n);
  } else {
    arrive_system<kReleases>(signals, n);
  }
}

/// What a wait does about other instances that wait for the same semaphore: nothing.
struct Unchecked {};

template <typename Check>
inline constexpr bool kIsChecked = true;
template <>
inline constexpr bool kIsChecked<Unchecked> = false;

/// Stores what has been taken. With a check, the launch ends where somebody else has taken signals
/// meanwhile.
template <typename Check>
TILEWIRE_DEVICE void store_consumed(uint32_t* consumed, uint32_t before, uint32_t after,
                                    Check check) {
  if constexpr (kIsChecked<Check>) {
    uint32_t found;
    asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3; // own phase"
                 : "=r"(found)
                 : "l"(consumed), "r"(before), "r"(after)
                 : "memory");
    if (found != before) check.fail();
  } else {
    *static_cast<volatile uint32_t*>(consumed) = after;
  }
}

/// One thread's wait until `n` signals are left, which it takes. One function for all waits of a
/// kernel: they would otherwise be most of its code.
template <Scope kScope, typename Group, typename Check>
static __device__ __noinline__ void take_signals(uint64_t* cell, uint32_t n, const Lane& lane,
                                                 uint32_t site, uint64_t timeout_ns, Check check) {
  auto* semaphore = reinterpret_cast<SemaphoreCell*>(cell);
  // On its way while `signals` is polled.
  const uint32_t consumed = *static_cast<volatile uint32_t*>(&semaphore->consumed);
  Deadline<Group> deadline(lane, timeout_ns);
  while (true) {
    const uint32_t left = load_acquire<kScope>(&semaphore->signals) - consumed;
    if (left >= n && static_cast<int32_t>(left) >= 0) break;
    if (!deadline.is_due()) continue;
    if (!deadline.keep_waiting({lane.rank, linear_program_id(), site, kAnyPeer, n}, left)) return;
  }
  store_consumed(&semaphore->consumed, consumed, consumed + n, check);
}

/// A wait for one semaphore of this rank's. `timeout_ns`: `kNoDeadline`, or the lane's. `check`: an
/// `Assertion` of who waits.
template <Scope kScope, typename Group = ProgramThreads, typename Check = Unchecked>
TILEWIRE_DEVICE void wait_semaphore(uint64_t* cell, uint32_t n, const Lane& lane, uint32_t site,
                                    uint64_t timeout_ns, Check check = {}) {
  if (Group::index() == 0) take_signals<kScope, Group>(cell, n, lane, site, timeout_ns, check);
}

/// A wait for all semaphores of a slice, polled side by side by the group's threads.
template <Scope kScope, int kThreads, typename Group = ProgramThreads, typename Slice,
          typename Check = Unchecked>
TILEWIRE_DEVICE void wait_semaphores(Slice slice, uint64_t* first, uint32_t n, const Lane& lane,
                                     uint32_t site, uint64_t timeout_ns, Check check = {}) {
  for (int i = Group::index(); i < Slice::kElements; i += kThreads) {
    take_signals<kScope, Group>(first + slice(i), n, lane, site, timeout_ns, check);
  }
}

}  // namespace tilewire::device

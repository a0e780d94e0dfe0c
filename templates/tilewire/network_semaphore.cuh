// Waits for semaphores that peers out of reach signal too: what came is the sum of the cell's word,
// which peers in reach add to, and of the semaphore's signals on all contexts of the network.
// Functions for all threads of a CTA, none of which synchronises them: what was signalled may be
// relied on only after a __syncthreads behind a wait.
#pragma once

#include "tilewire/network.cuh"
#include "tilewire/semaphore.cuh"

namespace tilewire::device {

/// As `take_signals`. `objects`: the array that the semaphore is one of.
template <typename Check>
static __device__ __noinline__ void take_network_signals(const ncclDevComm& comm,
                                                         const WindowHandle& objects,
                                                         uint64_t* cell, uint32_t n,
                                                         const Lane& lane, uint32_t site,
                                                         uint64_t timeout_ns, Check check) {
  auto* semaphore = reinterpret_cast<SemaphoreCell*>(cell);
  const auto signal = static_cast<uint32_t>(objects.first_signal +
                                            (cell - static_cast<const uint64_t*>(objects.local)));
  const uint32_t consumed = *static_cast<volatile uint32_t*>(&semaphore->consumed);
  NetworkSignals far(comm, lane, signal, network_signals(comm, lane, signal));
  Deadline deadline(lane, timeout_ns);
  while (true) {
    const uint32_t seen = far.look();
    const uint32_t left = load_acquire<Scope::kSystem>(&semaphore->signals) + seen - consumed;
    if (left >= n && static_cast<int32_t>(left) >= 0) break;
    if (!deadline.is_due()) continue;
    const Wait wait = {static_cast<uint32_t>(comm.rank), linear_program_id(), site, kAnyPeer, n};
    if (!deadline.keep_waiting(wait, left)) return;
  }
  store_consumed(&semaphore->consumed, consumed, consumed + n, check);
}

/// A wait for one semaphore of this rank's; see `wait_semaphore`.
template <typename Check = Unchecked>
TILEWIRE_DEVICE void wait_network_semaphore(const WindowHandle& objects, uint64_t* cell, uint32_t n,
                                            const Lane& lane, const ncclDevComm& comm,
                                            uint32_t site, uint64_t timeout_ns, Check check = {}) {
  if (threadIdx.x != 0) return;
  take_network_signals(comm, objects, cell, n, lane, site, timeout_ns, check);
}

/// A wait for all semaphores of a slice, polled side by side by the CTA's threads.
template <int kThreads, typename Slice, typename Check = Unchecked>
TILEWIRE_DEVICE void wait_network_semaphores(Slice slice, const WindowHandle& objects,
                                             uint64_t* first, uint32_t n, const Lane& lane,
                                             const ncclDevComm& comm, uint32_t site,
                                             uint64_t timeout_ns, Check check = {}) {
  for (int i = threadIdx.x; i < Slice::kElements; i += kThreads) {
    take_network_signals(comm, objects, first + slice(i), n, lane, site, timeout_ns, check);
  }
}

}  // namespace tilewire::device

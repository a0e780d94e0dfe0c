// How far the peers have come, in launches that take a flag array or a rotating window: each rank
// tells its peers when it starts one, which says that it has ended the ones before. A rank whose
// launch would write what a peer's earlier launch may still be using waits for it.
#pragma once

#include "tilewire/abi.cuh"
#include "tilewire/hang.cuh"
#include "tilewire/layout.cuh"
#include "tilewire/object_layout.cuh"
#include "tilewire/peer.cuh"
#include "tilewire/phases.cuh"

namespace tilewire::device {

/// Polls until a peer has started a launch, with deadline and report. Acquires.
template <typename Group>
static __device__ __noinline__ void wait_for_launch(const int64_t* started, int64_t launch,
                                                    const Lane& lane, Wait wait) {
  Deadline<Group> deadline(lane);
  while (true) {
    const int64_t seen = load_acquire<Scope::kSystem>(started);
    if (seen >= launch) return;
    if (!deadline.is_due()) continue;
    if (!deadline.keep_waiting(wait, static_cast<uint32_t>(seen))) return;
  }
}

/// What this rank knows of its peers in the LSA team, which is the whole world. Thread i keeps what
/// the i-th peer has said, which is read when this is made. None of the functions synchronises the
/// `kThreads` threads.
template <int kRanks, int kThreads>
class PeerLaunches {
  static_assert(kRanks > 1 && kRanks - 1 <= kThreads);

 public:
  TILEWIRE_DEVICE PeerLaunches(const WindowHandle& object, const Lane& lane)
      : object_(object), lane_(lane) {
    if (threadIdx.x >= kRanks - 1) return;
    started_ = load_relaxed<Scope::kSystem>(own_word(peer()));
  }
  PeerLaunches(const PeerLaunches&) = delete;
  PeerLaunches& operator=(const PeerLaunches&) = delete;

  /// Tells every peer that this rank has started `launch`, by its first instance. Relaxed: what was
  /// done in earlier launches had been performed when they ended.
  TILEWIRE_DEVICE void announce(int64_t launch) const {
    if (linear_program_id() != 0 || threadIdx.x >= kRanks - 1) return;
    int64_t* word = started_word(copy_at(object_, peer(), lane_.lsa_rank), lane_.lsa_rank);
    asm volatile("st.relaxed.sys.global.u64 [%0], %1; // arrive" ::"l"(word), "l"(launch)
                 : "memory");
  }

  /// Waits until every peer has started launch number `launch`, if there is such a launch. Where it
  /// was seen before, that is a look at a register: the writes that follow depend on it, and can't
  /// come before. `site` numbers the line of the program in hang reports.
  TILEWIRE_DEVICE void wait(int64_t launch, uint32_t site) {
    if (threadIdx.x >= kRanks - 1 || started_ >= launch) return;
    wait_for_launch<ProgramThreads>(own_word(peer()), launch, lane_, wait_of(launch, site, peer()));
    started_ = launch;
  }
  /// The same by a task's warp, each thread of which looks after some.
  template <typename Group>
  TILEWIRE_DEVICE void wait_in(int64_t launch, uint32_t site) const {
    TILEWIRE_ROLLED
    for (int i = Group::index(); i < kRanks - 1; i += kWarpThreads) {
      const uint32_t other = i + (i >= lane_.lsa_rank ? 1 : 0);
      wait_for_launch<Group>(own_word(other), launch, lane_, wait_of(launch, site, other));
    }
  }

 private:
  /// The rank that this thread looks after.
  TILEWIRE_DEVICE uint32_t peer() const {
    return threadIdx.x + (threadIdx.x >= lane_.lsa_rank ? 1 : 0);
  }
  TILEWIRE_DEVICE Wait wait_of(int64_t launch, uint32_t site, uint32_t other) const {
    return {lane_.rank, linear_program_id(), site, lane_.rank - lane_.lsa_rank + other,
            static_cast<uint32_t>(launch)};
  }
  TILEWIRE_DEVICE static int64_t* started_word(void* state, uint32_t rank) {
    return reinterpret_cast<int64_t*>(static_cast<char*>(state) + started_offset(rank));
  }
  TILEWIRE_DEVICE int64_t* own_word(uint32_t other) const {
    return started_word(object_.local, other);
  }

  const WindowHandle& object_;
  const Lane& lane_;
  int64_t started_ = 0x7fffffffffffffff;  ///< threads that look after nobody never wait
};

}  // namespace tilewire::device

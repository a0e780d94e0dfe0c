// What the host hands a kernel: plain structs of fixed-width fields, compiled by NVRTC and by the
// host's compiler alike. Sizes are asserted on both sides.
#pragma once

#if defined(__CUDACC_RTC__)
#include <stdint.h>
#else
#include <cstdint>
#endif

namespace tilewire::device {

/// One wait that passed its deadline, in host-visible memory. Written once, by whoever comes first
/// (`state` goes 0 → 1 → 2 with a system-scope exchange; 2: all fields are valid).
struct HangReport {
  uint32_t state;
  uint32_t rank;        // who waits
  uint32_t program_id;  // linear
  uint32_t site;        // Lane::site_base + index into Artifact::wait_sites
  uint32_t peer;        // for whom; world rank, or kAnyPeer
  uint32_t expected;
  uint32_t seen;
  uint32_t final;  // 0: after report_after_ns, still waiting; 1: at timeout_ns, about to trap
};
inline constexpr uint32_t kAnyPeer = 0xffffffff;  // anybody could end the wait
inline constexpr uint32_t kMaxHangReports = 32;   // of each kind

/// Launches that don't fit together (launch_log.cuh), where HangPage::stop is 3.
struct alignas(16) Misfit {
  uint32_t is_valid;
  uint32_t peer;   // world rank whose launch of the same number was another one; this rank: two
                   // launches of the lane ran at once
  uint32_t own;    // hash of this rank's launch
  uint32_t other;  // of the one that doesn't fit; kEndedHash: the peer's lane has ended
};

/// Host-visible page of a lane: reports, and the word that stops every wait.
struct HangPage {
  uint32_t stop;  // 0: run; 1: leave all waits and trap; 2: leave all waits (abort); 3: so, Misfit
  uint32_t reserved;
  // Places taken, by atomic add, of each kind: HangReport::final. May run past kMaxHangReports.
  uint32_t num_reports[2];
  HangReport reports[2][kMaxHangReports];
  Misfit misfit;
};

/// Two-sided launches that each rank remembers of each rank of the LSA team.
inline constexpr uint32_t kLoggedLaunches = 4;

/// No launch has it: a rank's host writes it at the peers, as the hash of the launch that they wait
/// for, when the lane has ended there.
inline constexpr uint32_t kEndedHash = 1;

/// What a rank has heard of its own and its peers' two-sided launches: one for each rank of the LSA
/// team, behind `Lane::launch_offset` and the word for the launch that runs now.
struct LaunchLog {
  // [number % kLoggedLaunches]: a launch's number, counted from 1, in the high half, its hash in
  // the low one. Stored by the rank that launched it.
  uint64_t launches[kLoggedLaunches];
  // How many of this rank's own launches that rank was told of. Only this rank's.
  uint32_t num_told;
  uint32_t reserved[7];
};
inline constexpr uint64_t kLaunchLogOffset = 128;  // from Lane::launch_offset to the first log

/// The synchronisation state that launches share, passed by value. Addresses of peers come from
/// NCCL's window. Barrier slot layout inside the window, uint32 words:
/// inbox[slot][source rank of the LSA team], then phase[slot], which only this rank uses. Behind
/// them, kGridWordBytes apart, the words of grid barriers (grid_barrier.cuh): one for each rank of
/// the LSA team, then one that only this rank uses. In a world with a network, behind those and the
/// log of launches, uint32 words that only this rank uses: consumed[network slot][source rank of
/// the world], the signals of barriers over the network that it has waited for; then the staging
/// memory of tiles and messages on their way (network_staging.cuh).
///
/// Kernels that only want to know where they are get one of which rank, lsa_rank and lsa_size alone
/// are set. What every launch reads comes first, so that it lies in few lines of constant memory.
struct Lane {
  uint32_t rank;      // in the world; those of an LSA team are consecutive
  uint16_t lsa_rank;  // in its LSA team
  uint16_t lsa_size;
  uint32_t launch_hash;     // of the launched kernel, its grid and constants; not 0
  uint32_t site_base;       // of the launched kernel; a report's site is site_base + its own index
  uint64_t launch_offset;   // bytes from the window's start to the running launch's word
  uint64_t lsa_base;        // address of the copy of the LSA team's first rank
  uint64_t lsa_stride;      // bytes from one rank's copy to the next one's
  void* local;              // address of the window's start in this rank's own memory
  uint64_t barrier_offset;  // bytes from the window's start to inbox[0][0]
  uint64_t phase_offset;    // bytes from the window's start to phase[0]
  uint64_t grid_offset;     // bytes from the window's start to the first word of grid barriers
  HangPage* hang;           // host memory, mapped
  uint64_t report_after_ns;
  uint64_t timeout_ns;
  void* window;        // ncclWindow_t
  uint32_t num_slots;  // program instances that barriers can serve
  // All of these 0 without a network. Signals of barriers over it have the numbers
  // first_signal + slot * world + source.
  uint32_t network_slots;  // program instances that barriers over the network can serve
  uint64_t first_signal;
  uint64_t network_phase_offset;  // bytes from the window's start to consumed[0][0]
  uint64_t staging_offset;        // bytes from the window's start
  uint64_t staging_bytes;         // of all instances of a launch together
  uint32_t num_contexts;          // of ncclGin; instance i uses number i % num_contexts
};

inline constexpr uint32_t kGridWordBytes = 128;
/// What a word of a grid barrier grows by in a phase; more than any grid has instances.
inline constexpr uint32_t kGridPhase = 1u << 16;
/// The word's value when the phase that is under way is over.
constexpr uint32_t next_grid_phase(uint32_t word) {
  return word / kGridPhase * kGridPhase + kGridPhase;
}

/// A symmetric window as a kernel sees it.
struct WindowHandle {
  void* window;     // ncclWindow_t
  uint64_t offset;  // bytes from the window's start to element 0
  void* local;      // address of this rank's element 0
  uint64_t stride;  // bytes from an LSA rank's copy to the next one's: where peers' element 0 is
  uint64_t first_signal;  // number of the object's first signal over the network; 0: it has none
};

/// How the TMA unit finds a tensor's boxes in memory; opaque (`CUtensorMap`).
struct alignas(64) TensorMap {
  char bytes[128];
};

static_assert(sizeof(HangReport) == 32);
static_assert(sizeof(HangPage) == 32 + 64 * sizeof(HangReport));
static_assert(sizeof(Misfit) == 16);
static_assert(sizeof(Lane) == 152);
static_assert(sizeof(LaunchLog) == 64);
static_assert(sizeof(WindowHandle) == 40);
static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) == 64);

}  // namespace tilewire::device

// How synchronisation objects and rotating windows lie in their symmetric memory, alike on every
// rank: for generated kernels, for the CPU's virtual worlds and for the host that makes them. Fresh
// memory is all zeros.
#pragma once

#include "tilewire/base.cuh"
#include "tilewire/channel_layout.cuh"

namespace tilewire::device {

/// Parts that different sides write start at multiples of this many bytes.
inline constexpr uint64_t kPartAlignment = 128;

TILEWIRE_CONSTEXPR uint64_t round_up_to(uint64_t bytes, uint64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

// Semaphores.

/// One semaphore: `signals - consumed` are left to be waited for. Both count up and wrap around.
struct SemaphoreCell {
  uint32_t signals;   // all that came so far; anybody adds to it
  uint32_t consumed;  // of those, what the one consumer has waited for; only it writes this
};
static_assert(sizeof(SemaphoreCell) == 8);

TILEWIRE_CONSTEXPR uint64_t semaphore_bytes(uint64_t num_elements) {
  return num_elements * sizeof(SemaphoreCell);
}

// What changes with each launch that takes an object: the start of flags and of rotating windows.

/// Which launch it is, as far as this rank has come. Read by every instance of a launch, advanced
/// by the last one to leave.
struct LaunchState {
  uint32_t generation;  // launches before this one; wraps around: compare signed differences
  uint32_t turn;        // the same modulo the object's period, which never skips
  uint32_t num_left;    // instances of this launch that have left
  uint32_t reserved[29];
};
static_assert(sizeof(LaunchState) == kPartAlignment);

/// How many launches each rank has finished, by rank: `uint32_t done[world_size]`, written by that
/// rank.
TILEWIRE_CONSTEXPR uint64_t done_offset() { return sizeof(LaunchState); }

/// Up to the elements of a flag array, or to the first copy of a rotating window.
TILEWIRE_CONSTEXPR uint64_t launch_state_bytes(int world_size) {
  return done_offset() + round_up_to(4 * static_cast<uint64_t>(world_size), kPartAlignment);
}

// Flags.

/// Generations that a flag array uses words for in turn.
inline constexpr uint32_t kFlagWords = 3;

/// One flag: how often it was set in each of the last generations.
struct FlagElement {
  uint32_t count[kFlagWords];  // word: LaunchState::turn
  uint32_t filled;             // number of the last fill of a copy engine
};
static_assert(sizeof(FlagElement) == 16);

TILEWIRE_CONSTEXPR uint64_t flag_offset(int world_size, uint64_t index) {
  return launch_state_bytes(world_size) + index * sizeof(FlagElement);
}
TILEWIRE_CONSTEXPR uint64_t flag_bytes(int world_size, uint64_t num_elements) {
  return flag_offset(world_size, num_elements);
}

// Rotating windows: k copies behind each other.

TILEWIRE_CONSTEXPR uint64_t rotating_copy_bytes(uint64_t num_bytes) {
  return round_up_to(num_bytes, kPartAlignment);
}
/// `turn`: `LaunchState::turn`, below the number of copies.
TILEWIRE_CONSTEXPR uint64_t rotating_offset(int world_size, uint64_t num_bytes, uint64_t turn) {
  return launch_state_bytes(world_size) + turn * rotating_copy_bytes(num_bytes);
}
TILEWIRE_CONSTEXPR uint64_t rotating_bytes(int world_size, uint64_t num_bytes,
                                           uint64_t num_copies) {
  return rotating_offset(world_size, num_bytes, num_copies);
}

}  // namespace tilewire::device

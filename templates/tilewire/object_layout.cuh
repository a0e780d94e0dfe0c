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

/// How far this rank has come. `word` counts in its upper bits the launches that have ended, and in
/// its lower kLeaverBits who has left the one that runs: `launch_of`.
struct LaunchState {
  uint64_t word;
  uint64_t num_fills;  // of a flag array: fills by copy engines that have begun
  uint64_t reserved[14];
};
static_assert(sizeof(LaunchState) == kPartAlignment);

inline constexpr int kLeaverBits = 16;
/// Program instances of a launch that takes such an object, at most.
inline constexpr uint64_t kMaxLeavers = (1 << (kLeaverBits - 1)) - 1;

/// The state's word when so many launches have ended and none runs.
TILEWIRE_CONSTEXPR uint64_t word_after(int64_t launches) {
  return static_cast<uint64_t>(launches) << kLeaverBits;
}

/// What an instance adds to the word when it leaves: the first one ends the launch and owes the
/// departures of the others, which each take one off. So the lower bits are above 0 while the
/// launch that is counted as ended still runs, and 0 when all have left.
TILEWIRE_CONSTEXPR uint64_t leaving(uint64_t instance, uint64_t num_instances) {
  return instance == 0 ? word_after(1) + num_instances - 1 : ~uint64_t{0};
}

/// The number of the launch that runs, from 1 on, for an instance of it that hasn't left.
TILEWIRE_CONSTEXPR int64_t launch_of(uint64_t word) {
  const int64_t owed = static_cast<int16_t>(static_cast<uint16_t>(word));
  const uint64_t ended = (word - static_cast<uint64_t>(owed)) >> kLeaverBits;
  return static_cast<int64_t>(ended) + (owed > 0 ? 0 : 1);
}

/// `int64_t started[world_size]`: the last launch that each rank has started, written by that rank;
/// by number in the LSA team. All that it did in earlier ones is done.
TILEWIRE_CONSTEXPR uint64_t started_offset(uint64_t rank) {
  return sizeof(LaunchState) + sizeof(int64_t) * rank;
}

/// Up to the elements of a flag array, or to the first copy of a rotating window.
TILEWIRE_CONSTEXPR uint64_t launch_state_bytes(int world_size) {
  return sizeof(LaunchState) +
         round_up_to(sizeof(int64_t) * static_cast<uint64_t>(world_size), kPartAlignment);
}

// Flags.

/// Launches that a flag has words for, in turn: while launch n runs, peers may be in n - 1 to n +
/// 1, and the word of n + 2 is cleared.
inline constexpr uint32_t kFlagWords = 4;

TILEWIRE_CONSTEXPR uint32_t flag_turn(int64_t launch) {
  return static_cast<uint32_t>(static_cast<uint64_t>(launch) % kFlagWords);
}

/// One flag: how often it was set in each of the last launches.
struct FlagElement {
  uint32_t count[kFlagWords];  // word: flag_turn
  int64_t filled;              // number of the last fill by copy engines
  uint64_t reserved;
};
static_assert(sizeof(FlagElement) == 32);

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
/// `turn`: the launch's number modulo the number of copies.
TILEWIRE_CONSTEXPR uint64_t rotating_offset(int world_size, uint64_t num_bytes, uint64_t turn) {
  return launch_state_bytes(world_size) + turn * rotating_copy_bytes(num_bytes);
}
TILEWIRE_CONSTEXPR uint64_t rotating_bytes(int world_size, uint64_t num_bytes,
                                           uint64_t num_copies) {
  return rotating_offset(world_size, num_bytes, num_copies);
}

}  // namespace tilewire::device

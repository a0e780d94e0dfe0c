// How synchronisation objects and rotating windows lie in their symmetric memory, alike on every
// rank: for generated kernels, for the CPU's virtual worlds and for the host that makes them. Fresh
// memory is all zeros.
#pragma once

#include "tilewire/base.cuh"

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

// Channels.

/// How a channel's messages are told from what was in their buffer before.
enum class Carrying {
  kTagged,    // a sequence number beside every 4 bytes; receivers hand out credits
  kExchange,  // the same tags, two buffers, no credits: the answer is the acknowledgement
  kReserved,  // a value that no message contains, three buffers that their reader clears
};

/// One rank's part of a channel of `num_slots` slots, all from the start of its memory. Messages
/// to this rank lie in its buffers; words count messages and wrap around.
struct ChannelLayout {
  uint64_t num_slots;
  uint64_t world_size;
  uint64_t depth;          // messages that may be unread at a time; kTagged only
  uint64_t message_bytes;  // of data, in multiples of 16
  Carrying carrying;

  /// Messages that this rank has received in a slot (kTagged), or exchanged.
  TILEWIRE_CONSTEXPR uint64_t received_offset(uint64_t slot) const { return 4 * slot; }
  /// Messages that this rank has sent into a peer's slot. kTagged only, as all credits.
  TILEWIRE_CONSTEXPR uint64_t sent_offset(uint64_t peer, uint64_t slot) const {
    return words_bytes() + 4 * (peer * num_slots + slot);
  }
  /// Messages of this rank's that a peer has received in its slot: written by that peer.
  TILEWIRE_CONSTEXPR uint64_t credit_offset(uint64_t peer, uint64_t slot) const {
    return words_bytes() + sent_bytes() + 4 * (peer * num_slots + slot);
  }
  TILEWIRE_CONSTEXPR uint64_t buffer_offset(uint64_t slot, uint64_t buffer) const {
    return buffers_offset() + (slot * num_buffers() + buffer) * buffer_bytes();
  }
  TILEWIRE_CONSTEXPR uint64_t num_bytes() const { return buffer_offset(num_slots, 0); }

  TILEWIRE_CONSTEXPR uint64_t num_buffers() const {
    return carrying == Carrying::kTagged ? depth : carrying == Carrying::kExchange ? 2 : 3;
  }
  /// With tags, 16 bytes hold 8 of data and their sequence numbers. A tagged message ends with 16
  /// bytes more, which name its sender.
  TILEWIRE_CONSTEXPR uint64_t buffer_bytes() const {
    const uint64_t with_tags = carrying == Carrying::kReserved ? message_bytes : 2 * message_bytes;
    return round_up_to(with_tags + (carrying == Carrying::kTagged ? 16 : 0), kPartAlignment);
  }

 private:
  TILEWIRE_CONSTEXPR uint64_t words_bytes() const {
    return round_up_to(4 * num_slots, kPartAlignment);
  }
  TILEWIRE_CONSTEXPR uint64_t sent_bytes() const {
    return carrying == Carrying::kTagged ? round_up_to(4 * world_size * num_slots, kPartAlignment)
                                         : 0;
  }
  TILEWIRE_CONSTEXPR uint64_t buffers_offset() const { return words_bytes() + 2 * sent_bytes(); }
};

}  // namespace tilewire::device

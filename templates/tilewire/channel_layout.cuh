// How a channel lies in the memory of each rank, and its messages in their buffers. Plain
// arithmetic, for NVRTC, the host and the CPU world alike.
//
// A message is its fields, one behind the other, each in 32-bit words in the row-major order of
// its elements, never by thread: kernels of any thread counts meet in a slot. Elements narrower
// than a word are packed where whole words make up each row, else each gets a word of its own.
#pragma once

#include "tilewire/base.cuh"

namespace tilewire::device {

/// How a channel's messages are carried.
///
/// - kTagged: a FIFO. Packets of 8 bytes, a word of data and the message's sequence number; a slot
///   has `depth` buffers, and the receiver stores at the sender how many messages it has read.
/// - kExchange: the same packets between all ranks. Receiving message n + 1 proves that the peer
///   has read n, so two buffers and no credits.
/// - kReserved: words of data alone, which are never 0 (`to_wire`); 0: not there yet. Three
///   buffers: in message n the reader clears buffer n - 1, which message n + 2 is written to.
enum class Carrying { kTagged, kExchange, kReserved };

inline constexpr int kWordBytes = 4;
inline constexpr int kMessageAlignment = 128;  // a line of the L2 cache

/// Whether narrow elements are packed: `row` of them, the last extent that isn't 1.
TILEWIRE_CONSTEXPR bool is_packed(int64_t row, int element_bytes) {
  return element_bytes >= kWordBytes || row * element_bytes % kWordBytes == 0;
}
/// Words of data of a field.
TILEWIRE_CONSTEXPR int64_t field_words(int64_t elements, int element_bytes, bool packed) {
  return packed ? elements * element_bytes / kWordBytes : elements;
}
/// Bytes of a field in a buffer: whole vectors of 16.
TILEWIRE_CONSTEXPR int64_t field_bytes(int64_t words, Carrying carrying) {
  const int64_t bytes = words * (carrying == Carrying::kReserved ? 1 : 2) * kWordBytes;
  return (bytes + 15) / 16 * 16;
}
/// In front of the fields of a kTagged message: the sender's rank, as a field of one word.
inline constexpr int kSenderBytes = 16;

TILEWIRE_CONSTEXPR int64_t up_to_line(int64_t bytes) {
  return (bytes + kMessageAlignment - 1) / kMessageAlignment * kMessageAlignment;
}

/// What one slot's sender or receiver keeps from message to message, in memory of its own rank.
struct alignas(8) ChannelCount {
  uint32_t sequence;  ///< messages so far; wraps around
  uint32_t buffer;    ///< where the next one goes
};

/// A channel's memory on each rank, in this order. All of it is 0 at first.
///
///   ChannelCount received[slot]      by the one who reads the slot (who exchanges in it)
///   ChannelCount sent[peer][slot]    kTagged: by the one who sends to the peer's slot
///   uint32_t credits[peer][slot]     kTagged: messages that the peer has read, which it stores
///   buffers[slot][buffer][source]    a source per rank, but for kTagged, which has one
///
/// Where the network reaches some ranks, kTagged has a second set of buffers for what it brings:
///
///   uint32_t network_received[slot]  behind the credits, by the one who reads the slot: of its
///                                    messages, those that came over the network
///   network_buffers[slot][buffer]    behind the buffers
///
/// and each message and each credit that travels so is told of by a signal, whose numbers count
/// from the channel's first one: `data_signal` and so on.
struct ChannelLayout {
  Carrying carrying;
  int world;
  int64_t slots;          ///< of one rank; of exchanges: of all dimensions behind the world's
  int depth;              ///< of kTagged
  int64_t message_bytes;  ///< of one buffer and source: a multiple of kMessageAlignment
  bool network = false;   ///< some ranks are out of reach of loads and stores

  TILEWIRE_CONSTEXPR int num_buffers() const {
    return carrying == Carrying::kTagged ? depth : carrying == Carrying::kExchange ? 2 : 3;
  }
  TILEWIRE_CONSTEXPR int num_sources() const { return carrying == Carrying::kTagged ? 1 : world; }

  /// Of all sources.
  TILEWIRE_CONSTEXPR int64_t buffer_bytes() const { return num_sources() * message_bytes; }

  TILEWIRE_CONSTEXPR int64_t received(int64_t slot) const {
    return slot * static_cast<int64_t>(sizeof(ChannelCount));
  }
  TILEWIRE_CONSTEXPR int64_t sent(int64_t peer, int64_t slot) const {
    return received(slots + peer * slots + slot);
  }
  TILEWIRE_CONSTEXPR int64_t credit(int64_t peer, int64_t slot) const {
    return sent(world, 0) + (peer * slots + slot) * static_cast<int64_t>(sizeof(uint32_t));
  }
  TILEWIRE_CONSTEXPR int64_t network_received(int64_t slot) const {
    return credit(world, 0) + slot * static_cast<int64_t>(sizeof(uint32_t));
  }
  TILEWIRE_CONSTEXPR int64_t buffers() const {
    if (carrying != Carrying::kTagged) return up_to_line(received(slots));
    return up_to_line(network ? network_received(slots) : credit(world, 0));
  }
  TILEWIRE_CONSTEXPR int64_t buffer(int64_t slot, int64_t buffer, int64_t source) const {
    return buffers() + ((slot * num_buffers() + buffer) * num_sources() + source) * message_bytes;
  }
  TILEWIRE_CONSTEXPR int64_t network_buffer(int64_t slot, int64_t buffer) const {
    return this->buffer(slots, 0, 0) + (slot * num_buffers() + buffer) * message_bytes;
  }
  TILEWIRE_CONSTEXPR int64_t num_bytes() const {
    const bool has_both = network && carrying == Carrying::kTagged;
    return has_both ? network_buffer(slots, 0) : buffer(slots, 0, 0);
  }

  /// Signals of the network that a channel has.
  TILEWIRE_CONSTEXPR int64_t num_signals() const {
    if (!network) return 0;
    return carrying == Carrying::kTagged ? slots + world * slots : slots * world;
  }
  /// kTagged: a message is in the slot's network buffer.
  TILEWIRE_CONSTEXPR int64_t data_signal(int64_t slot) const { return slot; }
  /// kTagged: `receiver` has read one of this rank's messages out of its slot.
  TILEWIRE_CONSTEXPR int64_t credit_signal(int64_t receiver, int64_t slot) const {
    return slots + receiver * slots + slot;
  }
  /// Exchanges: a source's message is in its buffer of the slot.
  TILEWIRE_CONSTEXPR int64_t source_signal(int64_t slot, int64_t source) const {
    return slot * world + source;
  }

  /// The buffer of the next message.
  TILEWIRE_CONSTEXPR uint32_t next(uint32_t buffer) const {
    return buffer + 1 == static_cast<uint32_t>(num_buffers()) ? 0 : buffer + 1;
  }
  /// The buffer of the message before.
  TILEWIRE_CONSTEXPR uint32_t previous(uint32_t buffer) const {
    return buffer == 0 ? static_cast<uint32_t>(num_buffers()) - 1 : buffer - 1;
  }
};

/// Bits of which a word holds the sign of each of its elements.
TILEWIRE_CONSTEXPR uint32_t sign_bits(int element_bytes) {
  return element_bytes == 1 ? 0x80808080u : element_bytes == 2 ? 0x80008000u : 0x80000000u;
}

/// A word of floats of 1, 2 or 4 bytes as kReserved carries it: never 0. Negative zeros become
/// positive ones, then all signs are turned over, so that the word that can't be is 0: a buffer is
/// empty where it is all zeros.
TILEWIRE_CONSTEXPR uint32_t to_wire(uint32_t word, int element_bytes) {
  const uint32_t signs = sign_bits(element_bytes);
  // The sign of an element stays where its other bits, carried upwards, say that it isn't 0.
  const uint32_t is_not_zero = (word & ~signs) + ~signs;
  return (word & (is_not_zero | ~signs)) ^ signs;
}
TILEWIRE_CONSTEXPR uint32_t from_wire(uint32_t word, int element_bytes) {
  return word ^ sign_bits(element_bytes);
}

/// The same of f64, whose two words travel together.
TILEWIRE_CONSTEXPR uint64_t to_wire(uint64_t bits) {
  constexpr uint64_t kSign = uint64_t{1} << 63;
  return bits == kSign ? kSign : bits ^ kSign;
}
TILEWIRE_CONSTEXPR uint64_t from_wire(uint64_t bits) { return bits ^ (uint64_t{1} << 63); }

}  // namespace tilewire::device

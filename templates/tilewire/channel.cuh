// What all channels share: their types, and polling. exchange.cuh and fifo.cuh carry messages.
#pragma once

#include "tilewire/hang.cuh"
#include "tilewire/peer.cuh"
#include "tilewire/wire_access.cuh"

namespace tilewire::device {

/// One value of a message: `kElements` of T, in rows of `kRow`.
template <typename T, int kElements, int kRow>
struct Field {
  static constexpr bool kIsPacked = is_packed(kRow, sizeof(T));
  static constexpr int64_t kWords = field_words(kElements, sizeof(T), kIsPacked);
};

/// A channel as the kernel's constants: its layout, and where the fields of a message lie.
/// `kHasNetwork_`: some ranks are out of reach of loads and stores.
template <bool kHasNetwork_, Carrying kCarrying_, int kRanks_, int64_t kSlots, int kDepth,
          typename... Fields>
struct AnyChannel {
  static constexpr Carrying kCarrying = kCarrying_;
  static constexpr int kRanks = kRanks_;
  static constexpr bool kHasNetwork = kHasNetwork_;
  static constexpr Scope kScope = kRanks == 1 ? Scope::kGpu : Scope::kSystem;

  /// Bytes in front of a field; of the last one and one more, of the message.
  static TILEWIRE_CONSTEXPR int64_t field_offset(int field) {
    const int64_t words[] = {Fields::kWords...};
    int64_t offset = kCarrying == Carrying::kTagged ? kSenderBytes : 0;
    for (int i = 0; i < field; ++i) offset += field_bytes(words[i], kCarrying);
    return offset;
  }
  static TILEWIRE_CONSTEXPR bool packs(int field) {
    const bool are_packed[] = {Fields::kIsPacked...};
    return are_packed[field];
  }
  static TILEWIRE_CONSTEXPR ChannelLayout layout() {
    constexpr int64_t kMessageBytes = up_to_line(field_offset(sizeof...(Fields)));
    return {kCarrying, kRanks, kSlots, kDepth, kMessageBytes, kHasNetwork};
  }

  template <typename V, int kField>
  using PieceOf = Piece<V, packs(kField)>;
};

template <Carrying kCarrying, int kRanks, int64_t kSlots, int kDepth, typename... Fields>
using Channel = AnyChannel<false, kCarrying, kRanks, kSlots, kDepth, Fields...>;
template <Carrying kCarrying, int kRanks, int64_t kSlots, int kDepth, typename... Fields>
using NetworkChannel = AnyChannel<true, kCarrying, kRanks, kSlots, kDepth, Fields...>;

/// One value of an exchange from each rank, in rank order.
template <typename V, int kRanks>
struct Parts {
  V of[kRanks];
};

#if defined(__CUDACC__)

/// A slot outside of the channel, or a rank that isn't there, would be anybody's memory.
TILEWIRE_DEVICE void require_slot(bool is_inside) {
  if (!is_inside) __trap();
}

/// How many messages have gone through one end of a slot. What was read when this was made and what
/// came since stay apart, so that the first who asks waits for memory and nobody before: a sum in
/// one variable would be waited for where a loop begins.
template <typename Ch>
class SlotCount {
 public:
  TILEWIRE_DEVICE explicit SlotCount(const char* place) : opened_(load_count<Ch::kScope>(place)) {}

  TILEWIRE_DEVICE uint32_t sequence() const { return sum(opened_.sequence, num_messages_); }
  TILEWIRE_DEVICE uint32_t buffer() const {
    constexpr uint32_t kBuffers = Ch::layout().num_buffers();
    const uint32_t buffer = sum(opened_.buffer, num_buffers_);
    return buffer < kBuffers ? buffer : buffer - kBuffers;
  }
  /// One more message.
  TILEWIRE_DEVICE void advance() {
    ++num_messages_;
    num_buffers_ = Ch::layout().next(num_buffers_);
    is_used_ = true;
  }
  TILEWIRE_DEVICE bool is_used() const { return is_used_; }
  TILEWIRE_DEVICE ChannelCount opened() const { return opened_; }
  TILEWIRE_DEVICE ChannelCount now() const { return {sequence(), buffer()}; }

 private:
  /// Opaque, for the same reason.
  static TILEWIRE_DEVICE uint32_t sum(uint32_t a, uint32_t b) {
    uint32_t sum;
    asm volatile("add.u32 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
  }

  const ChannelCount opened_;
  uint32_t num_messages_ = 0;
  uint32_t num_buffers_ = 0;  ///< modulo their number
  bool is_used_ = false;
};

/// Which chunks of all sources are still missing: a bit for each.
template <int kSources, int kChunks>
struct Missing {
  static constexpr int kMasks = divide_up(kSources * kChunks, 32);
  uint32_t masks[kMasks] = {};

  static TILEWIRE_CONSTEXPR int bit(int source, int chunk) { return source * kChunks + chunk; }
  TILEWIRE_DEVICE void add(int source, int chunk, bool is_missing) {
    masks[bit(source, chunk) / 32] |= uint32_t{is_missing} << bit(source, chunk) % 32;
  }
  TILEWIRE_DEVICE bool has(int source, int chunk) const {
    return masks[bit(source, chunk) / 32] >> bit(source, chunk) % 32 & 1;
  }
  TILEWIRE_DEVICE bool any() const {
    uint32_t all = 0;
    TILEWIRE_UNROLL
    for (int i = 0; i < kMasks; ++i) all |= masks[i];
    return all != 0;
  }
  /// The first source of which something is missing.
  TILEWIRE_DEVICE uint32_t source() const {
    for (int i = 0; i < kMasks; ++i) {
      if (masks[i] != 0) return (32 * i + __ffs(static_cast<int>(masks[i])) - 1) / kChunks;
    }
    return 0;
  }
};

/// Chunks of each source that are polled together: all of them where that takes no more registers
/// than they stay in. Packets take twice as many until their tags have been looked at.
template <Carrying kCarrying>
TILEWIRE_CONSTEXPR int chunks_at_once(int sources, int chunks) {
  constexpr int kMaxPackets = 8;
  if (kCarrying == Carrying::kReserved || sources * chunks <= kMaxPackets) return chunks;
  return sources >= kMaxPackets ? 1 : kMaxPackets / sources;
}

/// Fills `kCount` chunks of all sources from `kFirst` on, as they come, but those of source
/// `except` and what this thread doesn't read. Source i's lie `stride` bytes behind those of the
/// source before; `wait.peer`: whose source 0 is.
template <Scope kScope, int kFirst, int kCount, typename P, Carrying kCarrying, int kSources>
TILEWIRE_DEVICE void poll_some(Words<P, kCarrying> (&words)[kSources], const char* from,
                               int64_t stride, int except, uint32_t sequence, const Lane& lane,
                               const Wait& wait) {
  using C = Chunk<P, kCarrying>;
  Missing<kSources, kCount> missing;
  TILEWIRE_UNROLL
  for (int source = 0; source < kSources; ++source) {
    TILEWIRE_UNROLL
    for (int i = 0; i < kCount; ++i) {
      missing.add(source, i, source != except && C::reads(threadIdx.x, kFirst + i));
    }
  }
  Deadline deadline(lane);
  do {
    Missing<kSources, kCount> still;
    TILEWIRE_UNROLL
    for (int source = 0; source < kSources; ++source) {
      TILEWIRE_UNROLL
      for (int i = 0; i < kCount; ++i) {
        const bool is_missing = missing.has(source, i);
        const bool is_there =
            poll_chunk<C, kScope>(from + source * stride + C::offset(threadIdx.x, kFirst + i),
                                  words[source].of[kFirst + i], is_missing, sequence);
        still.add(source, i, is_missing && !is_there);
      }
    }
    missing = still;
    if (!missing.any()) return;
    if (!deadline.is_due()) continue;
    Wait report = wait;
    report.peer += missing.source();
    if (!deadline.keep_waiting(report, 0)) return;
  } while (true);
}

/// The same of all chunks.
template <Scope kScope, int kFirst = 0, typename P, Carrying kCarrying, int kSources>
TILEWIRE_DEVICE void poll(Words<P, kCarrying> (&words)[kSources], const char* from, int64_t stride,
                          int except, uint32_t sequence, const Lane& lane, const Wait& wait) {
  constexpr int kChunks = Chunk<P, kCarrying>::kCount;
  if constexpr (kFirst < kChunks) {
    constexpr int kCount = smaller(chunks_at_once<kCarrying>(kSources, kChunks), kChunks - kFirst);
    poll_some<kScope, kFirst, kCount>(words, from, stride, except, sequence, lane, wait);
    poll<kScope, kFirst + kCount>(words, from, stride, except, sequence, lane, wait);
  }
}

/// Stores this thread's words of a field of one message.
template <Scope kScope, typename P, Carrying kCarrying>
TILEWIRE_DEVICE void put_words(char* to, const Words<P, kCarrying>& words, uint32_t sequence) {
  using C = Chunk<P, kCarrying>;
  TILEWIRE_UNROLL
  for (int chunk = 0; chunk < C::kCount; ++chunk) {
    if (!C::sends(threadIdx.x, chunk)) continue;
    store_chunk<C, kScope>(to + C::offset(threadIdx.x, chunk), words.of[chunk], sequence);
  }
}

#endif

}  // namespace tilewire::device

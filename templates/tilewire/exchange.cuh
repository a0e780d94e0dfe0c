// An exchange: each rank sends a message to all others, and gets theirs.
//
// The thread that sends an element is the one that reads it of each peer, and elements are spread
// alike on all ranks. So a thread that has read message n of an element knows that its peers'
// threads of that element have read message n - 1 and done what stands before they sent n.
#pragma once

#include "tilewire/channel.cuh"

namespace tilewire::device {

/// What one slot needs, read when it is made and kept in registers until `close`. `Values`: those
/// of a message. None of the functions synchronises the CTA's threads: all of them take part in
/// each.
template <typename Ch, typename... Values>
class ExchangeSlot {
  static constexpr Carrying kCarrying = Ch::kCarrying;
  static constexpr int kRanks = Ch::kRanks;
  static_assert(kRanks > 1 && kCarrying != Carrying::kTagged);

 public:
  TILEWIRE_DEVICE ExchangeSlot(const Lane& lane, const WindowHandle& channel, int rank,
                               int64_t slot)
      : lane_(lane),
        channel_(channel),
        rank_(rank),
        count_place_(static_cast<char*>(channel.local) + Ch::layout().received(slot)),
        own_(static_cast<char*>(channel.local) + Ch::layout().buffer(slot, 0, 0)),
        count_(count_place_) {}
  ExchangeSlot(const ExchangeSlot&) = delete;
  ExchangeSlot& operator=(const ExchangeSlot&) = delete;

  /// Before the first field is sent. In a launch's first exchange of the slot there is nothing to
  /// do: what the launch before cleared was over when it ended.
  TILEWIRE_DEVICE void begin() {
    if (!count_.is_used()) return;
    clear();
    again();
  }
  /// The same where other statements of the launch may have used the slot.
  TILEWIRE_DEVICE void again() {
    if constexpr (kCarrying == Carrying::kReserved) fence_system();
  }

  template <int kField, typename V>
  TILEWIRE_DEVICE void send(const V& value) {
    using P = typename Ch::template PieceOf<V, kField>;
    Words<P, kCarrying> words;
    to_words(value, words);
    TILEWIRE_UNROLL
    for (int i = 0; i < kRanks - 1; ++i) {
      // From the next rank on, so that not all of them begin with the same one.
      const int after = rank_ + 1 + i;
      const int64_t distance = i + 1 - (after < kRanks ? 0 : kRanks);
      put_words<Ch::kScope>(own_ + distance * static_cast<int64_t>(channel_.stride) +
                                rank_ * Ch::layout().message_bytes +
                                offset_of<kField>(count_.buffer()),
                            words, count_.sequence() + 1);
    }
  }

  /// Everybody's value in rank order; this rank's own as its peers see it.
  template <int kField, typename V>
  TILEWIRE_DEVICE Parts<V, kRanks> receive(const V& value, uint32_t site) {
    using P = typename Ch::template PieceOf<V, kField>;
    Words<P, kCarrying> words[kRanks];
    to_words(value, words[0]);
    TILEWIRE_UNROLL
    for (int rank = 1; rank < kRanks; ++rank) words[rank] = words[0];
    poll<Ch::kScope>(
        words, own_ + offset_of<kField>(count_.buffer()), Ch::layout().message_bytes, rank_,
        count_.sequence() + 1, lane_,
        {static_cast<uint32_t>(rank_), linear_program_id(), site, 0, count_.sequence() + 1});
    Parts<V, kRanks> parts;
    TILEWIRE_UNROLL
    for (int rank = 0; rank < kRanks; ++rank) from_words(words[rank], parts.of[rank]);
    return parts;
  }

  /// Behind the last field that was received.
  TILEWIRE_DEVICE void advance() { count_.advance(); }

  /// Leaves the slot to the next launch; `check`: an `Assertion` that nobody else used it
  /// meanwhile. All threads have read the slot's count before: a
  /// __syncthreads stands between.
  template <typename Check = UncheckedSlot>
  TILEWIRE_DEVICE void close(Check check = {}) {
    if (!count_.is_used()) return;
    clear();
    if (threadIdx.x == 0)
      store_count<Ch::kScope>(count_place_, count_.opened(), count_.now(), check);
  }

 protected:
  /// Of a field of a source's message in a buffer, from that in buffer 0.
  template <int kField>
  static TILEWIRE_DEVICE int64_t offset_of(uint32_t buffer) {
    constexpr uint32_t kBufferBytes = Ch::layout().buffer_bytes();
    constexpr int64_t kOffset = Ch::field_offset(kField);
    return int64_t{buffer} * kBufferBytes + kOffset;
  }

  /// Empties the buffer of the message before the last one, which has been read.
  TILEWIRE_DEVICE void clear() {
    if constexpr (kCarrying == Carrying::kReserved) clear_fields<0, Values...>();
  }
  template <int kField>
  TILEWIRE_DEVICE void clear_fields() {}
  template <int kField, typename V, typename... Rest>
  TILEWIRE_DEVICE void clear_fields() {
    using P = typename Ch::template PieceOf<V, kField>;
    const Words<P, kCarrying> nothing = {};
    char* const buffer = own_ + offset_of<kField>(Ch::layout().next(count_.buffer()));
    TILEWIRE_UNROLL
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == rank_) continue;
      put_words<Ch::kScope>(buffer + rank * Ch::layout().message_bytes, nothing, 0);
    }
    clear_fields<kField + 1, Rest...>();
  }

  const Lane& lane_;
  const WindowHandle& channel_;
  const int rank_;
  char* const count_place_;
  char* const own_;  ///< this rank's buffers of the slot
  SlotCount<Ch> count_;
};

}  // namespace tilewire::device

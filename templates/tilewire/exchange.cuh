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
      : lane_(lane), rank_(rank), slot_(slot), local_(static_cast<char*>(channel.local)) {
    count_ = load_count<Ch::kScope>(local_ + Ch::layout().received(slot));
    TILEWIRE_UNROLL
    for (int i = 0; i < kRanks - 1; ++i) {
      // From the next rank on, so that not all of them begin with the same one.
      const int peer = rank_ + 1 + i;
      peers_[i] = channel_at(channel, peer < kRanks ? peer : peer - kRanks, rank_);
    }
  }
  ExchangeSlot(const ExchangeSlot&) = delete;
  ExchangeSlot& operator=(const ExchangeSlot&) = delete;

  /// Before the first field is sent. In a launch's first exchange of the slot there is nothing to
  /// do: what the launch before cleared was over when it ended.
  TILEWIRE_DEVICE void begin() {
    if (!is_used_) return;
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
      put_words<Ch::kScope>(peers_[i] + place<kField>(count_.buffer, rank_), words,
                            count_.sequence + 1);
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
        words, local_ + place<kField>(count_.buffer, 0), Ch::layout().message_bytes, rank_,
        count_.sequence + 1, lane_,
        {static_cast<uint32_t>(rank_), linear_program_id(), site, 0, count_.sequence + 1});
    Parts<V, kRanks> parts;
    TILEWIRE_UNROLL
    for (int rank = 0; rank < kRanks; ++rank) from_words(words[rank], parts.of[rank]);
    return parts;
  }

  /// Behind the last field that was received.
  TILEWIRE_DEVICE void advance() {
    count_ = {count_.sequence + 1, Ch::layout().next(count_.buffer)};
    is_used_ = true;
  }

  /// Leaves the slot to the next launch. All threads have read the slot's count before: a
  /// __syncthreads stands between.
  TILEWIRE_DEVICE void close() {
    if (!is_used_) return;
    clear();
    if (threadIdx.x == 0) store_count<Ch::kScope>(local_ + Ch::layout().received(slot_), count_);
  }

 private:
  template <int kField>
  TILEWIRE_DEVICE int64_t place(uint32_t buffer, int source) const {
    constexpr int64_t kOffset = Ch::field_offset(kField);
    return Ch::layout().buffer(slot_, buffer, source) + kOffset;
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
    TILEWIRE_UNROLL
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == rank_) continue;
      put_words<Ch::kScope>(local_ + place<kField>(Ch::layout().next(count_.buffer), rank), nothing,
                            0);
    }
    clear_fields<kField + 1, Rest...>();
  }

  const Lane& lane_;
  const int rank_;
  const int64_t slot_;
  char* const local_;
  char* peers_[kRanks - 1];
  ChannelCount count_;
  bool is_used_ = false;
};

}  // namespace tilewire::device

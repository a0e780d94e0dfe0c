// A slot of a channel as a queue of messages from one rank to one, which may be the same.
//
// The sender knows how many messages it has sent and, from the credits that the receiver stores,
// how many were read. A message begins with its sender's rank, so that the receiver knows where its
// credits go.
#pragma once

#include "tilewire/channel.cuh"

namespace tilewire::device {

/// The sending end, read when it is made and kept in registers until `close`. None of the functions
/// synchronises the CTA's threads: all of them take part in each.
template <typename Ch>
class Sender {
  static_assert(Ch::kCarrying == Carrying::kTagged);

 public:
  TILEWIRE_DEVICE Sender(const Lane& lane, const WindowHandle& channel, int rank, int64_t peer,
                         int64_t slot)
      : lane_(lane),
        rank_(rank),
        is_peer_(peer >= 0 && peer < Ch::kRanks),
        peer_(is_peer_ ? static_cast<int>(peer) : 0),
        slot_(slot),
        local_(static_cast<char*>(channel.local)),
        count_(local_ + Ch::layout().sent(peer_, slot)) {
    credit_ = load_credit<Ch::kScope>(local_ + Ch::layout().credit(peer_, slot));
    to_ = copy_at(channel, peer_, rank);
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;

  /// Waits while all buffers hold messages that weren't read; the peer must be a rank.
  TILEWIRE_DEVICE void begin(uint32_t site) {
    require_slot(is_peer_);
    constexpr uint32_t kDepth = Ch::layout().depth;
    Deadline deadline(lane_);
    while (count_.sequence() - credit_ >= kDepth) {
      credit_ = load_credit<Ch::kScope>(local_ + Ch::layout().credit(peer_, slot_));
      if (!deadline.is_due()) continue;
      const Wait wait = {static_cast<uint32_t>(rank_), linear_program_id(), site,
                         static_cast<uint32_t>(peer_), count_.sequence() + 1 - kDepth};
      if (!deadline.keep_waiting(wait, credit_)) return;
    }
  }

  template <int kField, typename V>
  TILEWIRE_DEVICE void send(const V& value) {
    using P = typename Ch::template PieceOf<V, kField>;
    constexpr int64_t kOffset = Ch::field_offset(kField);
    Words<P, Carrying::kTagged> words;
    to_words(value, words);
    put_words<Ch::kScope>(message() + kOffset, words, count_.sequence() + 1);
  }

  /// Behind the last field.
  TILEWIRE_DEVICE void advance() {
    Words<Piece<int, true>, Carrying::kTagged> sender;
    to_words(rank_, sender);
    put_words<Ch::kScope>(message(), sender, count_.sequence() + 1);
    count_.advance();
  }

  /// All threads have read the slot's count before: a __syncthreads stands between.
  template <typename Check = UncheckedSlot>
  TILEWIRE_DEVICE void close(Check check = {}) {
    if (!count_.is_used() || threadIdx.x != 0) return;
    store_count<Ch::kScope>(local_ + Ch::layout().sent(peer_, slot_), count_.opened(), count_.now(),
                            check);
  }

 private:
  TILEWIRE_DEVICE char* message() const {
    return to_ + Ch::layout().buffer(slot_, count_.buffer(), 0);
  }

  const Lane& lane_;
  const int rank_;
  const bool is_peer_;  ///< an instance that sends nothing may name any
  const int peer_;
  const int64_t slot_;
  char* const local_;
  SlotCount<Ch> count_;
  char* to_;
  uint32_t credit_;
};

/// The receiving end.
template <typename Ch>
class Receiver {
  static_assert(Ch::kCarrying == Carrying::kTagged);

 public:
  TILEWIRE_DEVICE Receiver(const Lane& lane, const WindowHandle& channel, int rank, int64_t slot)
      : lane_(lane),
        channel_(channel),
        rank_(rank),
        slot_(slot),
        local_(static_cast<char*>(channel.local)),
        count_(local_ + Ch::layout().received(slot)) {}
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;

  template <int kField, typename V>
  TILEWIRE_DEVICE V receive(uint32_t site) const {
    constexpr int64_t kOffset = Ch::field_offset(kField);
    return field<typename Ch::template PieceOf<V, kField>, V>(kOffset, site);
  }

  /// Tells the sender that the message was read: by all threads, a __syncthreads stands between.
  TILEWIRE_DEVICE void acknowledge(uint32_t site) {
    if (threadIdx.x == 0) {
      const int sender = field<Piece<int, true>, int>(0, site);
      store_credit<Ch::kScope>(copy_at(channel_, sender, rank_) + Ch::layout().credit(rank_, slot_),
                               count_.sequence() + 1);
    }
    count_.advance();
  }

  /// Thread 0 alone looks at it; the others have read the count before.
  template <typename Check = UncheckedSlot>
  TILEWIRE_DEVICE void close(Check check = {}) {
    if (!count_.is_used() || threadIdx.x != 0) return;
    store_count<Ch::kScope>(local_ + Ch::layout().received(slot_), count_.opened(), count_.now(),
                            check);
  }

 private:
  template <typename P, typename V>
  TILEWIRE_DEVICE V field(int64_t offset, uint32_t site) const {
    Words<P, Carrying::kTagged> words[1] = {};
    poll<Ch::kScope>(
        words, local_ + Ch::layout().buffer(slot_, count_.buffer(), 0) + offset, 0, -1,
        count_.sequence() + 1, lane_,
        {static_cast<uint32_t>(rank_), linear_program_id(), site, kAnyPeer, count_.sequence() + 1});
    V value;
    from_words(words[0], value);
    return value;
  }

  const Lane& lane_;
  const WindowHandle& channel_;
  const int rank_;
  const int64_t slot_;
  char* const local_;
  SlotCount<Ch> count_;
};

}  // namespace tilewire::device

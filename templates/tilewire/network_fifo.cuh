// A slot of a channel as a queue of messages (fifo.cuh), where some ranks are out of reach of loads
// and stores.
//
// To such a rank a message is laid out in staging memory as it is to lie in the receiver's buffer,
// put there as a whole, and told of by a signal; its credit comes back as a signal too. Between
// ranks in reach, everything is as in fifo.cuh. The receiver finds out of each message which way it
// came.
#pragma once

#include "tilewire/channel.cuh"
#include "tilewire/network.cuh"

namespace tilewire::device {

/// The number of one of a channel's signals.
TILEWIRE_DEVICE uint32_t channel_signal(const WindowHandle& channel, int64_t number) {
  return static_cast<uint32_t>(channel.first_signal + number);
}

/// The sending end; see `Sender`. `kLsa`: ranks of an LSA team.
template <typename Ch, int kLsa>
class NetworkSender {
  static_assert(Ch::kCarrying == Carrying::kTagged && Ch::kHasNetwork);

 public:
  TILEWIRE_DEVICE NetworkSender(Network& network, const WindowHandle& channel, int rank,
                                int64_t peer, int64_t slot)
      : network_(network),
        channel_(channel),
        rank_(rank),
        is_peer_(peer >= 0 && peer < Ch::kRanks),
        peer_(is_peer_ ? static_cast<int>(peer) : 0),
        is_far_(FarRanks<Ch::kRanks, kLsa>::is_far(rank, peer_)),
        slot_(slot),
        local_(static_cast<char*>(channel.local)),
        count_(local_ + Ch::layout().sent(peer_, slot)) {
    credit_ = credits();
  }
  NetworkSender(const NetworkSender&) = delete;
  NetworkSender& operator=(const NetworkSender&) = delete;

  /// Whether the message travels by `deliver`.
  TILEWIRE_DEVICE bool is_far() const { return is_far_; }

  /// Waits while all buffers hold messages that weren't read; the peer must be a rank. The threads
  /// meet inside where staging memory is full.
  TILEWIRE_DEVICE void begin(uint32_t site) {
    require_slot(is_peer_);
    constexpr uint32_t kDepth = Ch::layout().depth;
    Deadline deadline(network_.lane());
    while (count_.sequence() - credit_ >= kDepth) {
      credit_ = credits();
      if (!deadline.is_due()) continue;
      const Wait wait = {static_cast<uint32_t>(rank_), linear_program_id(), site,
                         static_cast<uint32_t>(peer_), count_.sequence() + 1 - kDepth};
      if (!deadline.keep_waiting(wait, credit_)) break;
    }
    buffer_ = count_.buffer();
    if (is_far_) {
      staged_ = network_.make_room(Ch::layout().message_bytes);
      to_ = network_.staged(staged_);
    } else {
      to_ = copy_at(channel_, peer_, rank_) + Ch::layout().buffer(slot_, buffer_, 0);
    }
  }

  template <int kField, typename V>
  TILEWIRE_DEVICE void send(const V& value) {
    using P = typename Ch::template PieceOf<V, kField>;
    Words<P, Carrying::kTagged> words;
    to_words(value, words);
    put_words<Ch::kScope>(to_ + Ch::field_offset(kField), words, count_.sequence() + 1);
  }

  /// Behind the last field.
  TILEWIRE_DEVICE void advance() {
    Words<Piece<int, true>, Carrying::kTagged> sender;
    to_words(rank_, sender);
    put_words<Ch::kScope>(to_, sender, count_.sequence() + 1);
    count_.advance();
  }

  /// Of a far peer, when all threads have laid down their parts: a __syncthreads stands between.
  TILEWIRE_DEVICE void deliver() {
    const uint32_t context = network_.context_of_slot(slot_);
    network_.note_message(context);
    if (threadIdx.x >= kNetworkThreads) return;
    network_.watched([&] {
      if (threadIdx.x != 0) return;
      network_.put_message(context, staged_, Ch::layout().message_bytes, channel_, peer_,
                           Ch::layout().network_buffer(slot_, buffer_),
                           channel_signal(channel_, Ch::layout().data_signal(slot_)));
    });
  }

  /// All threads have read the slot's count before: a __syncthreads stands between.
  template <typename Check = UncheckedSlot>
  TILEWIRE_DEVICE void close(Check check = {}) {
    if (!count_.is_used() || threadIdx.x != 0) return;
    store_count<Ch::kScope>(local_ + Ch::layout().sent(peer_, slot_), count_.opened(), count_.now(),
                            check);
  }

 private:
  /// How many messages the peer has read.
  TILEWIRE_DEVICE uint32_t credits() const {
    if (!is_far_) return load_credit<Ch::kScope>(local_ + Ch::layout().credit(peer_, slot_));
    return network_signals(network_.comm(), network_.lane(),
                           channel_signal(channel_, Ch::layout().credit_signal(peer_, slot_)));
  }

  Network& network_;
  const WindowHandle& channel_;
  const int rank_;
  const bool is_peer_;  ///< an instance that sends nothing may name any
  const int peer_;
  const bool is_far_;
  const int64_t slot_;
  char* const local_;
  SlotCount<Ch> count_;
  uint32_t credit_;
  uint32_t buffer_ = 0;  ///< of the message that is sent
  uint64_t staged_ = 0;  ///< where it lies staged
  char* to_ = nullptr;   ///< where its words go
};

/// The receiving end; see `Receiver`.
template <typename Ch, int kLsa>
class NetworkReceiver {
  static_assert(Ch::kCarrying == Carrying::kTagged && Ch::kHasNetwork);

 public:
  TILEWIRE_DEVICE NetworkReceiver(Network& network, const WindowHandle& channel, int rank,
                                  int64_t slot)
      : network_(network),
        channel_(channel),
        rank_(rank),
        slot_(slot),
        local_(static_cast<char*>(channel.local)),
        count_(local_ + Ch::layout().received(slot)),
        opened_far_(load_credit<Ch::kScope>(local_ + Ch::layout().network_received(slot))) {}
  NetworkReceiver(const NetworkReceiver&) = delete;
  NetworkReceiver& operator=(const NetworkReceiver&) = delete;

  /// Waits until the next message begins to come, and finds out which way.
  TILEWIRE_DEVICE void begin(uint32_t site) {
    from_ = local_ + Ch::layout().buffer(slot_, count_.buffer(), 0);
    const uint32_t signal = channel_signal(channel_, Ch::layout().data_signal(slot_));
    const uint32_t before = opened_far_ + num_far_;
    NetworkSignals far(network_.comm(), network_.lane(), signal, before);
    Words<Piece<int, true>, Carrying::kTagged> sender = {};
    using C = Chunk<Piece<int, true>, Carrying::kTagged>;
    Deadline deadline(network_.lane());
    is_far_ = false;
    while (!poll_chunk<C, Ch::kScope>(from_, sender.of[0], true, count_.sequence() + 1)) {
      is_far_ = static_cast<int32_t>(far.look() - before) > 0;
      if (is_far_) break;
      if (!deadline.is_due()) continue;
      const Wait wait = {static_cast<uint32_t>(rank_), linear_program_id(), site, kAnyPeer,
                         count_.sequence() + 1};
      if (!deadline.keep_waiting(wait, 0)) break;
    }
    if (is_far_) from_ = local_ + Ch::layout().network_buffer(slot_, count_.buffer());
  }

  template <int kField, typename V>
  TILEWIRE_DEVICE V receive(uint32_t site) const {
    return field<typename Ch::template PieceOf<V, kField>, V>(Ch::field_offset(kField), site);
  }

  /// Tells the sender that the message was read: by all threads, a __syncthreads stands between.
  TILEWIRE_DEVICE void acknowledge(uint32_t site) {
    const int sender = threadIdx.x == 0 ? field<Piece<int, true>, int>(0, site) : 0;
    if (is_far_) {
      network_.template add_signal<true>(
          network_.context(), sender,
          channel_signal(channel_, Ch::layout().credit_signal(rank_, slot_)), 1);
      ++num_far_;
    } else if (threadIdx.x == 0) {
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
    store_credit<Ch::kScope>(local_ + Ch::layout().network_received(slot_), opened_far_ + num_far_);
  }

 private:
  template <typename P, typename V>
  TILEWIRE_DEVICE V field(int64_t offset, uint32_t site) const {
    Words<P, Carrying::kTagged> words[1] = {};
    poll<Ch::kScope>(
        words, from_ + offset, 0, -1, count_.sequence() + 1, network_.lane(),
        {static_cast<uint32_t>(rank_), linear_program_id(), site, kAnyPeer, count_.sequence() + 1});
    V value;
    from_words(words[0], value);
    return value;
  }

  Network& network_;
  const WindowHandle& channel_;
  const int rank_;
  const int64_t slot_;
  char* const local_;
  SlotCount<Ch> count_;
  const uint32_t opened_far_;  ///< messages that had come over the network before
  uint32_t num_far_ = 0;
  bool is_far_ = false;         ///< of the message that is received
  const char* from_ = nullptr;  ///< where it lies
};

}  // namespace tilewire::device

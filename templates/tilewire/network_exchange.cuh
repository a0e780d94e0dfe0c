// An exchange (exchange.cuh) where some ranks are out of reach of loads and stores.
//
// For all of those, the message is laid out in staging memory once, put into each one's buffer of
// this source, and told of by a signal that counts this source's messages in the slot. Who has seen
// the signal finds the message as if it had been stored there.
#pragma once

#include "tilewire/exchange.cuh"
#include "tilewire/network_fifo.cuh"

namespace tilewire::device {

/// Polls until a signal has counted so many messages, with deadline and report.
static __device__ __noinline__ void await_message(const ncclDevComm& comm, const Lane& lane,
                                                  uint32_t signal, uint32_t count, uint32_t site,
                                                  uint32_t peer) {
  Deadline deadline(lane);
  while (true) {
    const uint32_t seen = network_signals(comm, lane, signal);
    if (static_cast<int32_t>(seen - count) >= 0) return;
    if (!deadline.is_due()) continue;
    const Wait wait = {static_cast<uint32_t>(comm.rank), linear_program_id(), site, peer, count};
    if (!deadline.keep_waiting(wait, seen)) return;
  }
}

/// What one slot needs; see `ExchangeSlot`, whose functions this one has too.
template <typename Ch, int kLsa, typename... Values>
class NetworkExchangeSlot : public ExchangeSlot<Ch, Values...> {
  using Base = ExchangeSlot<Ch, Values...>;
  using Far = FarRanks<Ch::kRanks, kLsa>;
  static_assert(Ch::kHasNetwork);

 public:
  TILEWIRE_DEVICE NetworkExchangeSlot(Network& network, const WindowHandle& channel, int rank,
                                      int64_t slot)
      : Base(network.lane(), channel, rank, slot), network_(network), slot_(slot) {}

  /// Room for the message; the threads meet inside where staging memory is full.
  TILEWIRE_DEVICE void stage() { staged_ = network_.make_room(Ch::layout().message_bytes); }

  template <int kField, typename V>
  TILEWIRE_DEVICE void send(const V& value) {
    using P = typename Ch::template PieceOf<V, kField>;
    Words<P, Ch::kCarrying> words;
    to_words(value, words);
    const uint32_t sequence = this->count_.sequence() + 1;
    put_words<Ch::kScope>(network_.staged(staged_) + Ch::field_offset(kField), words, sequence);
    TILEWIRE_UNROLL
    for (int i = 0; i < kLsa - 1; ++i) {
      // From the next rank on, so that not all of them begin with the same one.
      const int after = this->rank_ % kLsa + 1 + i;
      const int64_t distance = i + 1 - (after < kLsa ? 0 : kLsa);
      put_words<Ch::kScope>(this->own_ + distance * static_cast<int64_t>(this->channel_.stride) +
                                this->rank_ * Ch::layout().message_bytes +
                                Base::template offset_of<kField>(this->count_.buffer()),
                            words, sequence);
    }
  }

  /// Puts it to the far ranks, when all threads have laid down their parts: a __syncthreads stands
  /// between. By the first warp.
  TILEWIRE_DEVICE void deliver() {
    const uint32_t context = network_.context_of_slot(slot_);
    network_.note_message(context);
    if (threadIdx.x >= kNetworkThreads) return;
    const int64_t to = Ch::layout().buffer(slot_, this->count_.buffer(), this->rank_);
    const int64_t signal = Ch::layout().source_signal(slot_, this->rank_);
    network_.watched([&] {
      TILEWIRE_ROLLED
      for (int i = threadIdx.x; i < Far::count(NetworkTeam::kWorld); i += kNetworkCallers) {
        network_.put_message(context, staged_, Ch::layout().message_bytes, this->channel_,
                             Far::at(i, this->rank_, NetworkTeam::kWorld), to,
                             channel_signal(this->channel_, signal));
      }
    });
  }

  /// Waits for the far ranks' messages: by the first warp, a __syncthreads stands between this and
  /// what receives them.
  TILEWIRE_DEVICE void await(uint32_t site) {
    if (threadIdx.x >= kNetworkThreads) return;
    TILEWIRE_ROLLED
    for (int i = threadIdx.x; i < Far::count(NetworkTeam::kWorld); i += kNetworkThreads) {
      const int source = Far::at(i, this->rank_, NetworkTeam::kWorld);
      await_message(network_.comm(), network_.lane(),
                    channel_signal(this->channel_, Ch::layout().source_signal(slot_, source)),
                    this->count_.sequence() + 1, site, source);
    }
  }

 private:
  Network& network_;
  const int64_t slot_;
  uint64_t staged_ = 0;
};

}  // namespace tilewire::device

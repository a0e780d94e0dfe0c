#include "runtime/cpu/channel.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "runtime/cpu/absent_rank.h"
#include "runtime/cpu/channel_operation.h"

namespace tilewire {
namespace {

using device::Carrying;
using device::ChannelCount;
using Operation = ChannelOperation;

/// A buffer of the slot is free: the peer has read enough.
class HasRoom final : public WaitCondition {
 public:
  HasRoom(const Operation& operation, std::int64_t peer, std::uint32_t sent)
      : operation_(operation), peer_(peer), sent_(sent) {}

  std::uint32_t* credit() const {
    return operation_.word(operation_.rank(), operation_.layout().credit(peer_, operation_.slot()));
  }
  std::uint32_t num_unread() const {
    if (operation_.is_far(peer_)) return sent_ - operation_.network().signals({credit()});
    return sent_ - __atomic_load_n(credit(), __ATOMIC_ACQUIRE);
  }
  bool is_met() const override {
    return num_unread() < static_cast<std::uint32_t>(operation_.layout().depth);
  }
  std::string missing() const override {
    return fmt::format("slot {} of rank {} holds {} messages that nobody has received",
                       operation_.slot(), peer_, num_unread());
  }

 private:
  const Operation& operation_;
  std::int64_t peer_;
  std::uint32_t sent_;
};

/// A message is there, whoever sends it, and whichever way it came.
class HasMessage final : public WaitCondition {
 public:
  HasMessage(const Operation& operation, const std::byte* buffer, std::uint32_t sequence)
      : operation_(operation), buffer_(buffer), sequence_(sequence) {}

  bool is_met() const override { return is_near() || is_far(); }
  bool is_near() const {
    std::uint32_t tag = 0;
    std::memcpy(&tag, buffer_ + device::kWordBytes, sizeof(tag));  // the sender's
    return tag == sequence_ && operation_.message().has_arrived(buffer_, sequence_);
  }
  bool is_far() const {
    if (!operation_.layout().network) return false;
    const int rank = operation_.rank();
    const std::uint32_t received =
        *operation_.word(rank, operation_.layout().network_received(operation_.slot()));
    return operation_.network().signals({operation_.reader(rank)}) != received;
  }
  std::string missing() const override {
    return fmt::format("message {} to slot {} of rank {} didn't come", sequence_, operation_.slot(),
                       operation_.rank());
  }

 private:
  const Operation& operation_;
  const std::byte* buffer_;
  std::uint32_t sequence_;
};

/// All other ranks' messages are there.
class HaveExchanged final : public WaitCondition {
 public:
  HaveExchanged(const Operation& operation, ChannelCount count)
      : operation_(operation), count_(count) {}

  bool is_met() const override {
    while (num_met_ < operation_.world() && has_come(num_met_)) ++num_met_;
    return num_met_ == operation_.world();
  }
  std::vector<AwaitedInstance> awaited() const override {
    std::vector<AwaitedInstance> missing;
    for (int source = 0; source < operation_.world(); ++source) {
      if (!has_come(source)) missing.push_back(operation_.namesake(source));
    }
    return missing;
  }
  std::string missing() const override {
    return fmt::format("message {} in slot {}", count_.sequence + 1, operation_.slot());
  }

 private:
  bool has_come(int source) const {
    const int rank = operation_.rank();
    if (source == rank) return true;
    if (operation_.is_far(source)) {
      const std::uint32_t count = operation_.network().signals({operation_.reader(rank), source});
      return static_cast<std::int32_t>(count - (count_.sequence + 1)) >= 0;
    }
    return operation_.message().has_arrived(operation_.buffer(rank, count_.buffer, source),
                                            count_.sequence + 1);
  }

  const Operation& operation_;
  ChannelCount count_;
  mutable int num_met_ = 0;  ///< ranks below it have come, and stay: this is asked for each message
};

/// tiles: channel, slot, the peer if it isn't this rank, values.
void send(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const auto num_values = static_cast<std::size_t>(constants[5]);
  const std::size_t first = constants[6] != 0 ? 3 : 2;
  const std::span operands(tiles, first + num_values + static_cast<std::size_t>(constants[4]));
  const std::span<const CpuTile> values = operands.subspan(first, num_values);
  const Operation operation(*instance, operands, values, constants);
  const std::int64_t peer = first == 3 ? Operation::integer(tiles[2]) : operation.rank();
  if (peer < 0 || peer >= operation.world()) {
    operation.fail(absent_rank_message(peer, CountedIn::kWorld, operation.world()));
  }
  const std::int64_t own = operation.layout().sent(peer, operation.slot());
  const ChannelCount count = operation.count(own);
  operation.claim(operation.buffer(peer, 0, 0), "sends to the same slot");
  const HasRoom has_room(operation, peer, count.sequence);
  operation.wait(has_room, has_room.credit());

  if (operation.is_far(peer)) {
    const std::int64_t to = operation.layout().network_buffer(operation.slot(), count.buffer);
    operation.put(peer, operation.at(peer, to), operation.image(values, count.sequence + 1),
                  {operation.reader(peer)});
  } else {
    std::byte* to = operation.buffer(peer, count.buffer, 0);
    operation.write(to, values, count.sequence + 1);
    CpuMessage::write_sender(to, static_cast<std::uint32_t>(operation.rank()), count.sequence + 1);
    operation.notify(operation.reader(peer));
  }
  operation.advance(own, count);
}

/// tiles: values, channel, slot.
void recv(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const auto num_values = static_cast<std::size_t>(constants[5]);
  const std::span<const CpuTile> values(tiles, num_values);
  const std::span operands(tiles + num_values, 2 + static_cast<std::size_t>(constants[4]));
  const Operation operation(*instance, operands, values, constants);
  const std::int64_t own = operation.layout().received(operation.slot());
  const ChannelCount count = operation.count(own);
  operation.claim(operation.at(operation.rank(), own), "receives from the same slot");
  const std::byte* from = operation.buffer(operation.rank(), count.buffer, 0);
  const HasMessage has_message(operation, from, count.sequence + 1);
  operation.wait(has_message, operation.reader(operation.rank()));
  const bool is_far = !has_message.is_near();
  if (is_far) {
    from = operation.at(operation.rank(),
                        operation.layout().network_buffer(operation.slot(), count.buffer));
  }

  for (std::size_t field = 0; field < num_values; ++field) {
    operation.message().read(from, field, values[field]);
  }
  const std::uint32_t sender = CpuMessage::sender(from);
  std::uint32_t* credit =
      operation.word(sender, operation.layout().credit(operation.rank(), operation.slot()));
  if (is_far) {
    ++*operation.word(operation.rank(), operation.layout().network_received(operation.slot()));
    operation.signal(sender, {credit});
  } else {
    operation.pass_access();
    __atomic_store_n(credit, count.sequence + 1, __ATOMIC_RELEASE);
    operation.notify(credit);
  }
  operation.advance(own, count);
}

/// tiles: for each value that of each rank, then channel, slot, own values.
void exchange(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const auto num_values = static_cast<std::size_t>(constants[5]);
  const std::size_t num_ranks = Scheduler::of(*instance).ranks().size();
  const std::span<const CpuTile> results(tiles, num_values * num_ranks);
  const std::span operands(tiles + results.size(),
                           2 + num_values + static_cast<std::size_t>(constants[4]));
  const std::span<const CpuTile> values = operands.subspan(2, num_values);
  const Operation operation(*instance, operands, values, constants);
  const CpuMessage& message = operation.message();
  const int rank = operation.rank();
  const std::int64_t own = operation.layout().received(operation.slot());
  const ChannelCount count = operation.count(own);
  operation.claim(operation.at(rank, own), "exchanges in the same slot");

  const std::vector<std::byte> image = operation.layout().network
                                           ? operation.image(values, count.sequence + 1)
                                           : std::vector<std::byte>();
  for (std::size_t i = 1; i < num_ranks; ++i) {
    const auto peer = static_cast<std::int64_t>((static_cast<std::size_t>(rank) + i) % num_ranks);
    if (operation.is_far(peer)) {
      operation.put(peer, operation.buffer(peer, count.buffer, rank), image,
                    {operation.reader(peer), rank});
      continue;
    }
    operation.write(operation.buffer(peer, count.buffer, rank), values, count.sequence + 1);
    operation.notify(operation.reader(peer));
  }
  operation.wait(HaveExchanged(operation, count), operation.reader(rank));
  for (std::size_t source = 0; source < num_ranks; ++source) {
    const bool is_own = source == static_cast<std::size_t>(rank);
    const auto from = static_cast<std::int64_t>(source);
    for (std::size_t field = 0; field < num_values; ++field) {
      const CpuTile& result = results[field * num_ranks + source];
      if (is_own) {
        message.copy(field, values[field], result);
      } else {
        message.read(operation.buffer(rank, count.buffer, from), field, result);
      }
    }
    const bool has_tags = operation.layout().carrying != Carrying::kReserved;
    if (is_own || has_tags || operation.is_far(from)) continue;  // nothing to clear
    operation.pass_access();
    message.clear(operation.buffer(rank, operation.layout().previous(count.buffer), from));
  }
  operation.advance(own, count);
}

}  // namespace

std::vector<CpuSymbol> channel_references() {
  return {{"tilewire_channel_send", reinterpret_cast<void*>(send)},
          {"tilewire_channel_recv", reinterpret_cast<void*>(recv)},
          {"tilewire_channel_exchange", reinterpret_cast<void*>(exchange)}};
}

}  // namespace tilewire

#include "runtime/cpu/channel.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "compiler/support/error.h"
#include "runtime/cpu/channel_message.h"
#include "runtime/cpu/scheduler.h"

namespace tilewire {
namespace {

using device::Carrying;
using device::ChannelCount;
using device::ChannelLayout;

/// What each of the three functions is given: `channel`, `slot`, of a send the peer, then values;
/// behind them, if `constants` says so, whether the slot exists. constants: carrying, slots, depth,
/// site, whether there is a predicate, number of values, whether a rank is named, whether the
/// network reaches some.
class Operation {
 public:
  Operation(CpuInstance& instance, std::span<const CpuTile> operands,
            std::span<const CpuTile> message, const std::int64_t* constants)
      : instance_(instance),
        scheduler_(Scheduler::of(instance)),
        bases_(static_cast<std::byte* const*>(operands[0].data)),
        slot_(integer(operands[1])),
        site_(static_cast<std::uint32_t>(constants[3])),
        message_(static_cast<Carrying>(constants[0]), message),
        layout_{static_cast<Carrying>(constants[0]),
                world(),
                constants[1],
                static_cast<int>(constants[2]),
                message_.num_bytes(),
                constants[7] != 0} {
    const bool is_predicated = constants[4] != 0;
    const CpuTile& last = operands.back();
    if (is_predicated && !*static_cast<const bool*>(last.data)) {
      fail("this slot is outside of the channel");
    }
  }

  int world() const { return static_cast<int>(scheduler_.ranks().size()); }
  int rank() const { return static_cast<int>(instance_.rank); }
  std::int64_t slot() const { return slot_; }
  const CpuMessage& message() const { return message_; }
  const ChannelLayout& layout() const { return layout_; }

  static std::int64_t integer(const CpuTile& scalar) {
    return *static_cast<const std::int64_t*>(scalar.data);
  }

  /// Whether a rank is out of reach of loads and stores.
  bool is_far(std::int64_t peer) const {
    const int lsa_size = scheduler_.lane(rank()).lsa_size();
    return layout_.network && peer / lsa_size != rank() / lsa_size;
  }

  std::byte* at(std::int64_t rank, std::int64_t offset) const { return bases_[rank] + offset; }
  /// What whoever reads this slot there waits by; signals of messages are counted by it too.
  const std::byte* reader(std::int64_t rank) const { return at(rank, layout_.received(slot_)); }
  std::uint32_t* word(std::int64_t rank, std::int64_t offset) const {
    return reinterpret_cast<std::uint32_t*>(at(rank, offset));
  }
  ChannelCount count(std::int64_t offset) const {
    ChannelCount count;
    std::memcpy(&count, at(rank(), offset), sizeof(count));
    return count;
  }
  /// One message more.
  void advance(std::int64_t offset, ChannelCount count) const {
    scheduler_.pass_access(instance_);
    count = {count.sequence + 1, layout_.next(count.buffer)};
    std::memcpy(at(rank(), offset), &count, sizeof(count));
  }
  std::byte* buffer(std::int64_t rank, std::uint32_t buffer, std::int64_t source) const {
    return at(rank, layout_.buffer(slot_, buffer, source));
  }

  /// In pieces, between which others may look.
  void write(std::byte* to, std::span<const CpuTile> values, std::uint32_t sequence) const {
    for (std::size_t field = 0; field < values.size(); ++field) {
      for (const int half : {0, 1}) {
        scheduler_.pass_access(instance_);
        message_.write_half(to, field, half, values[field], sequence);
      }
    }
  }

  /// The message as it is to lie in a buffer.
  std::vector<std::byte> image(std::span<const CpuTile> values, std::uint32_t sequence) const {
    std::vector<std::byte> image(static_cast<std::size_t>(layout_.message_bytes));
    for (std::size_t field = 0; field < values.size(); ++field) {
      for (const int half : {0, 1}) {
        message_.write_half(image.data(), field, half, values[field], sequence);
      }
    }
    if (layout_.carrying == Carrying::kTagged) {
      CpuMessage::write_sender(image.data(), static_cast<std::uint32_t>(rank()), sequence);
    }
    return image;
  }
  /// Puts it to a far rank, and tells of it there. All of a slot's messages take one context,
  /// whichever instance sends them, so that they come in their order.
  void put(std::int64_t peer, std::byte* to, const std::vector<std::byte>& image,
           Network::Place place) const {
    scheduler_.pass_access(instance_);
    network().send(route(peer), {{to, image.data(), image.size()}});
    network().signal(route(peer), place, 1);
  }
  void signal(std::int64_t peer, Network::Place place) const {
    scheduler_.pass_access(instance_);
    network().signal(route(peer), place, 1);
  }
  Network& network() const { return scheduler_.network(); }

  void claim(const void* object, std::string_view what) const {
    scheduler_.claim(instance_, object, site_, what);
  }
  void wait(const WaitCondition& condition, const void* key) const {
    scheduler_.wait(instance_, condition, key, site_);
  }
  void notify(const void* key) const { scheduler_.notify(key); }
  void pass_access() const { scheduler_.pass_access(instance_); }

  [[noreturn]] void fail(const std::string& message) const {
    const auto& launch = scheduler_.ranks()[static_cast<std::size_t>(instance_.rank)];
    const WaitSite& site = launch.kernel->artifact().wait_sites.at(site_);
    throw UserError(fmt::format("{}: rank {}, program {}: {}", site.what, rank(),
                                instance_.linear_program_id(), message),
                    site.location);
  }
  AwaitedInstance namesake(int rank) const { return {rank, instance_.linear_program_id()}; }

 private:
  Network::Route route(std::int64_t peer) const {
    return {rank(), static_cast<int>(slot_ % Network::kNumContexts), static_cast<int>(peer)};
  }

  CpuInstance& instance_;
  Scheduler& scheduler_;
  std::byte* const* bases_;
  std::int64_t slot_;
  std::uint32_t site_;
  CpuMessage message_;
  ChannelLayout layout_;
};

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
    operation.fail(fmt::format("there is no rank {} among {}", peer, operation.world()));
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

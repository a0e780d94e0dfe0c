#include "runtime/cpu/channel.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

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
/// site, whether there is a predicate, number of values, whether a rank is named.
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
        layout_{static_cast<Carrying>(constants[0]), world(), constants[1],
                static_cast<int>(constants[2]), message_.num_bytes()} {
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

  std::byte* at(std::int64_t rank, std::int64_t offset) const { return bases_[rank] + offset; }
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
    const std::int64_t offset = operation_.layout().credit(peer_, operation_.slot());
    return reinterpret_cast<std::uint32_t*>(operation_.at(operation_.rank(), offset));
  }
  std::uint32_t num_unread() const { return sent_ - __atomic_load_n(credit(), __ATOMIC_ACQUIRE); }
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

/// A message is there, whoever sends it.
class HasMessage final : public WaitCondition {
 public:
  HasMessage(const Operation& operation, const std::byte* buffer, std::uint32_t sequence)
      : operation_(operation), buffer_(buffer), sequence_(sequence) {}

  bool is_met() const override {
    std::uint32_t tag = 0;
    std::memcpy(&tag, buffer_ + device::kWordBytes, sizeof(tag));  // the sender's
    return tag == sequence_ && operation_.message().has_arrived(buffer_, sequence_);
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

  bool is_met() const override { return awaited().empty(); }
  std::vector<AwaitedInstance> awaited() const override {
    std::vector<AwaitedInstance> missing;
    for (int source = 0; source < operation_.world(); ++source) {
      if (source == operation_.rank()) continue;
      const std::byte* from = operation_.buffer(operation_.rank(), count_.buffer, source);
      if (operation_.message().has_arrived(from, count_.sequence + 1)) continue;
      missing.push_back(operation_.namesake(source));
    }
    return missing;
  }
  std::string missing() const override {
    return fmt::format("message {} in slot {}", count_.sequence + 1, operation_.slot());
  }

 private:
  const Operation& operation_;
  ChannelCount count_;
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

  std::byte* to = operation.buffer(peer, count.buffer, 0);
  operation.write(to, values, count.sequence + 1);
  CpuMessage::write_sender(to, static_cast<std::uint32_t>(operation.rank()), count.sequence + 1);
  operation.notify(to);
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
  operation.wait(HasMessage(operation, from, count.sequence + 1), from);

  for (std::size_t field = 0; field < num_values; ++field) {
    operation.message().read(from, field, values[field]);
  }
  const std::int64_t offset = operation.layout().credit(operation.rank(), operation.slot());
  std::byte* credit = operation.at(CpuMessage::sender(from), offset);
  operation.pass_access();
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(credit), count.sequence + 1, __ATOMIC_RELEASE);
  operation.notify(credit);
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

  for (std::size_t i = 1; i < num_ranks; ++i) {
    const auto peer = static_cast<std::int64_t>((static_cast<std::size_t>(rank) + i) % num_ranks);
    operation.write(operation.buffer(peer, count.buffer, rank), values, count.sequence + 1);
    operation.notify(operation.at(peer, own));
  }
  operation.wait(HaveExchanged(operation, count), operation.at(rank, own));
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
    if (is_own || operation.layout().carrying != Carrying::kReserved) continue;
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

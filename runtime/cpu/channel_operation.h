#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cpu/channel_message.h"
#include "runtime/cpu/network.h"
#include "runtime/cpu/scheduler.h"

namespace tilewire {

/// What each of the three functions is given: `channel`, `slot`, of a send the peer, then values;
/// behind them, if `constants` says so, whether the slot exists. constants: carrying, slots, depth,
/// site, whether there is a predicate, number of values, whether a rank is named, whether the
/// network reaches some.
class ChannelOperation {
 public:
  ChannelOperation(CpuInstance& instance, std::span<const CpuTile> operands,
                   std::span<const CpuTile> message, const std::int64_t* constants);

  int world() const { return static_cast<int>(scheduler_.ranks().size()); }
  int rank() const { return static_cast<int>(instance_.rank); }
  std::int64_t slot() const { return slot_; }
  const CpuMessage& message() const { return message_; }
  const device::ChannelLayout& layout() const { return layout_; }

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
  device::ChannelCount count(std::int64_t offset) const {
    device::ChannelCount count;
    std::memcpy(&count, at(rank(), offset), sizeof(count));
    return count;
  }
  /// One message more.
  void advance(std::int64_t offset, device::ChannelCount count) const {
    scheduler_.pass_access(instance_);
    count = {count.sequence + 1, layout_.next(count.buffer)};
    std::memcpy(at(rank(), offset), &count, sizeof(count));
  }
  std::byte* buffer(std::int64_t rank, std::uint32_t buffer, std::int64_t source) const {
    return at(rank, layout_.buffer(slot_, buffer, source));
  }

  /// In pieces, between which others may look.
  void write(std::byte* to, std::span<const CpuTile> values, std::uint32_t sequence) const;
  /// The message as it is to lie in a buffer.
  std::vector<std::byte> image(std::span<const CpuTile> values, std::uint32_t sequence) const;
  /// Puts it to a far rank, and tells of it there. All of a slot's messages take one context,
  /// whichever instance sends them, so that they come in their order.
  void put(std::int64_t peer, std::byte* to, const std::vector<std::byte>& image,
           Network::Place place) const;
  void signal(std::int64_t peer, Network::Place place) const;
  Network& network() const { return scheduler_.network(); }

  void claim(const void* object, std::string_view what) const {
    scheduler_.claim(instance_, object, site_, what);
  }
  void wait(const WaitCondition& condition, const void* key) const {
    scheduler_.wait(instance_, condition, key, site_);
  }
  void notify(const void* key) const { scheduler_.notify(key); }
  void pass_access() const { scheduler_.pass_access(instance_); }

  /// UserError at the op's line.
  [[noreturn]] void fail(const std::string& message) const;
  AwaitedInstance namesake(int rank) const { return {rank, instance_.linear_program_id()}; }

 private:
  Network::Route route(std::int64_t peer) const {
    return {rank(), Network::context_of_slot(slot_), static_cast<int>(peer)};
  }

  CpuInstance& instance_;
  Scheduler& scheduler_;
  std::byte* const* bases_;
  std::int64_t slot_;
  std::uint32_t site_;
  CpuMessage message_;
  device::ChannelLayout layout_;
};

}  // namespace tilewire

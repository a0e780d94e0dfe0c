#include "templates/tilewire/channel_layout.cuh"

#include <algorithm>
#include <vector>

#include "tests/catch.h"

namespace tilewire::device {
namespace {

TEST_CASE("a word that is carried without a tag is never 0, and loses only signs of zeros") {
  for (const uint32_t magnitude : {0u, 1u, 0x7fffu, 0x7f80u, 0x0080u}) {
    for (const uint32_t sign : {0u, 0x8000u}) {
      for (uint32_t other = 0; other < 0x10000; other += 1) {
        const uint32_t half = magnitude | sign;
        const uint32_t word = half | other << 16;
        const uint32_t wire = to_wire(word, 2);
        REQUIRE(wire != 0);
        const uint32_t arrived = from_wire(wire, 2);
        REQUIRE((arrived & 0xffff) == (half == 0x8000 ? 0 : half));
        REQUIRE(arrived >> 16 == (other == 0x8000 ? 0 : other));
      }
    }
  }
  for (uint32_t i = 0; i < 1u << 20; ++i) {
    const uint32_t word = i * 2654435761u;
    REQUIRE(from_wire(to_wire(word, 4), 4) == word);
    uint32_t bytes = word;
    for (uint32_t shift = 0; shift < 32; shift += 8) {
      if ((word >> shift & 0xff) == 0x80) bytes &= ~(0x80u << shift);
    }
    REQUIRE(to_wire(word, 1) != 0);
    REQUIRE(from_wire(to_wire(word, 1), 1) == bytes);
  }
  CHECK(to_wire(0x80000000u, 4) != 0);
  CHECK(from_wire(to_wire(0x80000000u, 4), 4) == 0);
  CHECK(from_wire(to_wire(0x80808080u, 1), 1) == 0);
  CHECK(from_wire(to_wire(uint64_t{1} << 63)) == 0);
  CHECK(to_wire(uint64_t{1} << 63) != 0);
  CHECK(from_wire(to_wire(uint64_t{0x7ff8000000000001})) == 0x7ff8000000000001);
}

TEST_CASE("narrow elements are packed where rows are whole words") {
  CHECK(is_packed(2048, 2));
  CHECK(is_packed(2, 2));
  CHECK_FALSE(is_packed(3, 2));
  CHECK_FALSE(is_packed(6, 1));
  CHECK(is_packed(1, 4));
  CHECK(field_words(6, 2, true) == 3);
  CHECK(field_words(3, 2, false) == 3);
  CHECK(field_words(3, 8, true) == 6);
  CHECK(field_bytes(3, Carrying::kReserved) == 16);
  CHECK(field_bytes(3, Carrying::kExchange) == 32);
}

/// Where everything lies: no two share a byte, and vectors are aligned.
void check_layout(const ChannelLayout& layout) {
  std::vector<int> owner(static_cast<std::size_t>(layout.num_bytes()), 0);
  const auto take = [&owner](std::int64_t offset, std::int64_t bytes) {
    REQUIRE(offset >= 0);
    REQUIRE(offset + bytes <= static_cast<std::int64_t>(owner.size()));
    for (std::int64_t i = offset; i < offset + bytes; ++i) {
      REQUIRE(owner[static_cast<std::size_t>(i)]++ == 0);
    }
  };
  for (std::int64_t slot = 0; slot < layout.slots; ++slot) {
    take(layout.received(slot), sizeof(ChannelCount));
    for (int peer = 0; layout.carrying == Carrying::kTagged && peer < layout.world; ++peer) {
      take(layout.sent(peer, slot), sizeof(ChannelCount));
      take(layout.credit(peer, slot), sizeof(std::uint32_t));
    }
    if (layout.network && layout.carrying == Carrying::kTagged) {
      take(layout.network_received(slot), sizeof(std::uint32_t));
    }
    for (int buffer = 0; buffer < layout.num_buffers(); ++buffer) {
      if (layout.network && layout.carrying == Carrying::kTagged) {
        REQUIRE(layout.network_buffer(slot, buffer) % kMessageAlignment == 0);
        take(layout.network_buffer(slot, buffer), layout.message_bytes);
      }
      for (int source = 0; source < layout.num_sources(); ++source) {
        const std::int64_t offset = layout.buffer(slot, buffer, source);
        REQUIRE(offset % kMessageAlignment == 0);
        take(offset, layout.message_bytes);
      }
    }
  }
}

TEST_CASE("a channel's counts, credits and buffers share no byte") {
  for (const int world : {1, 2, 3, 8}) {
    check_layout({Carrying::kTagged, world, 5, 1, 128});
    check_layout({Carrying::kTagged, world, 3, 4, 384});
    check_layout({Carrying::kExchange, world, 7, 2, 256});
    check_layout({Carrying::kReserved, world, 4, 3, 128});
    check_layout({Carrying::kTagged, world, 5, 1, 128, true});
    check_layout({Carrying::kTagged, world, 3, 4, 384, true});
    check_layout({Carrying::kExchange, world, 7, 2, 256, true});
  }
}

TEST_CASE("a channel's signals over the network have a number each") {
  for (const Carrying carrying : {Carrying::kTagged, Carrying::kExchange, Carrying::kReserved}) {
    const ChannelLayout layout{carrying, 8, 5, 2, 128, true};
    std::vector<int> uses(static_cast<std::size_t>(layout.num_signals()), 0);
    for (std::int64_t slot = 0; slot < layout.slots; ++slot) {
      const bool is_tagged = carrying == Carrying::kTagged;
      if (is_tagged) ++uses.at(static_cast<std::size_t>(layout.data_signal(slot)));
      for (int rank = 0; rank < layout.world; ++rank) {
        const std::int64_t signal =
            is_tagged ? layout.credit_signal(rank, slot) : layout.source_signal(slot, rank);
        ++uses.at(static_cast<std::size_t>(signal));
      }
    }
    CHECK(std::ranges::all_of(uses, [](int count) { return count == 1; }));
  }
  CHECK(ChannelLayout{Carrying::kTagged, 8, 5, 2, 128}.num_signals() == 0);
}

TEST_CASE("without a network a channel lies as it would in a world that loads and stores reach") {
  const ChannelLayout near{Carrying::kTagged, 8, 5, 2, 128};
  const ChannelLayout far{Carrying::kTagged, 8, 5, 2, 128, true};
  CHECK(far.num_bytes() == near.num_bytes() + 5 * 2 * 128 + (far.buffers() - near.buffers()));
  CHECK(far.credit(7, 4) == near.credit(7, 4));
}

TEST_CASE("buffers follow each other in turn") {
  for (const int depth : {1, 2, 3, 7}) {
    const ChannelLayout layout{Carrying::kTagged, 2, 1, depth, 128};
    std::uint32_t buffer = 0;
    for (int i = 1; i <= 3 * depth; ++i) {
      CHECK(layout.previous(layout.next(buffer)) == buffer);
      buffer = layout.next(buffer);
      CHECK(buffer == static_cast<std::uint32_t>(i % depth));
    }
  }
}

}  // namespace
}  // namespace tilewire::device

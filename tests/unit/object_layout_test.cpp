#include "templates/tilewire/object_layout.cuh"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "compiler/ir/object.h"
#include "templates/tilewire/object_slice.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

static_assert(offsetof(SemaphoreCell, signals) == 0 && offsetof(SemaphoreCell, consumed) == 4);
static_assert(semaphore_bytes(3) == 24);
static_assert(launch_state_bytes(1) == 256 && launch_state_bytes(32) == 256);
static_assert(launch_state_bytes(33) == 384);
static_assert(flag_offset(2, 3) == 256 + 48 && flag_bytes(2, 4) == 256 + 64);
static_assert(rotating_offset(2, 100, 1) == 256 + 128 && rotating_bytes(2, 100, 3) == 256 + 384);

TEST_CASE("the slice of an array goes through its elements in row-major order") {
  const ObjectSlice<Extents<2, 3>, Extents<10, 2>> slice;
  const std::vector<uint32_t> expected = {0, 2, 4, 10, 12, 14};
  for (int i = 0; i < 6; ++i) CHECK(slice(i) == expected[i]);
}

/// Every part of a channel's memory as [begin, end): none may overlap, all lie in `num_bytes`.
void check_apart(const ChannelLayout& layout) {
  struct Part {
    uint64_t begin;
    uint64_t end;
    bool operator<(const Part& other) const { return begin < other.begin; }
  };
  std::multiset<Part> parts;
  const auto add = [&](uint64_t begin, uint64_t size) { parts.insert({begin, begin + size}); };
  for (uint64_t slot = 0; slot < layout.num_slots; ++slot) {
    add(layout.received_offset(slot), 4);
    for (uint64_t peer = 0; peer < layout.world_size; ++peer) {
      if (layout.carrying != Carrying::kTagged) break;
      add(layout.sent_offset(peer, slot), 4);
      add(layout.credit_offset(peer, slot), 4);
    }
    for (uint64_t buffer = 0; buffer < layout.num_buffers(); ++buffer) {
      CHECK(layout.buffer_offset(slot, buffer) % kPartAlignment == 0);
      add(layout.buffer_offset(slot, buffer), layout.buffer_bytes());
    }
  }
  uint64_t end = 0;
  for (const Part& part : parts) {
    CHECK(part.begin >= end);
    end = part.end;
  }
  CHECK(end == layout.num_bytes());
}

TEST_CASE("the parts of a channel lie apart") {
  for (const Carrying carrying : {Carrying::kTagged, Carrying::kExchange, Carrying::kReserved}) {
    for (const uint64_t world : {1, 2, 3, 8}) {
      for (const uint64_t slots : {1, 31, 64, 100}) {
        check_apart({slots, world, carrying == Carrying::kTagged ? 3u : 1u, 48, carrying});
      }
    }
  }
}

TEST_CASE("a buffer has room for tags and, behind them, the sender") {
  const ChannelLayout tagged{1, 2, 2, 4096, Carrying::kTagged};
  CHECK(tagged.num_buffers() == 2);
  CHECK(tagged.buffer_bytes() == 8192 + 128);
  const ChannelLayout exchange{1, 2, 1, 4096, Carrying::kExchange};
  CHECK(exchange.num_buffers() == 2);
  CHECK(exchange.buffer_bytes() == 8192);
  const ChannelLayout reserved{1, 2, 1, 4096, Carrying::kReserved};
  CHECK(reserved.num_buffers() == 3);
  CHECK(reserved.buffer_bytes() == 4096);
}

TEST_CASE("a message is its fields, each from a multiple of 16 bytes on") {
  const auto fields = parse_message("bf16[5], f32, e4m3[2, 8]");
  REQUIRE(fields.has_value());
  const ChannelType type{*fields, 1, Carrying::kTagged};
  CHECK(type.message_text() == "bf16[5], f32, e4m3[2, 8]");
  CHECK(type.field_offset(1) == 16);
  CHECK(type.field_offset(2) == 32);
  CHECK(type.message_bytes() == 48);
  for (const char* text : {"", "bf", "f32[0]", "f32[2", "f32]", "f32[2],", "f32[-1]", "f32[2] x"}) {
    CHECK_FALSE(parse_message(text).has_value());
  }
}

}  // namespace
}  // namespace tilewire::device

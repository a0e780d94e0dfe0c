#include "templates/tilewire/object_layout.cuh"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/ir/object.h"
#include "templates/tilewire/object_slice.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

static_assert(offsetof(SemaphoreCell, signals) == 0 && offsetof(SemaphoreCell, consumed) == 4);
static_assert(semaphore_bytes(3) == 24);
static_assert(launch_state_bytes(1) == 256 && launch_state_bytes(16) == 256);
static_assert(launch_state_bytes(17) == 384);
static_assert(flag_offset(2, 3) == 256 + 96 && flag_bytes(2, 4) == 256 + 128);
static_assert(rotating_offset(2, 100, 1) == 256 + 128 && rotating_bytes(2, 100, 3) == 256 + 384);

TEST_CASE("the slice of an array goes through its elements in row-major order") {
  const ObjectSlice<Extents<2, 3>, Extents<10, 2>> slice;
  const std::vector<uint32_t> expected = {0, 2, 4, 10, 12, 14};
  for (int i = 0; i < 6; ++i) CHECK(slice(i) == expected[i]);
}

TEST_CASE("a message is its fields, each in vectors of 16 bytes, and a tagged one its sender") {
  const auto fields = parse_message("bf16[5], f32, e4m3[2, 8]");
  REQUIRE(fields.has_value());
  const ChannelType type{*fields, 1, Carrying::kTagged};
  CHECK(type.message_text() == "bf16[5], f32, e4m3[2, 8]");
  // The rows of 5 aren't whole words: a word each. With tags, 16 + 48 + 16 + 32 bytes.
  const ChannelLayout tagged = type.layout(6, 2);
  CHECK(tagged.slots == 6);
  CHECK(tagged.message_bytes == 128);
  const ChannelType large{{{DType::kBF16, {4096}}}, 1, Carrying::kReserved};
  CHECK(large.layout(6, 2).slots == 3);
  CHECK(large.layout(6, 2).message_bytes == 8192);
  CHECK(ChannelType{large.message, 1, Carrying::kExchange}.layout(6, 2).message_bytes == 16384);
  CHECK(ChannelType{large.message, 4, Carrying::kTagged}.layout(6, 2).message_bytes == 16384 + 128);
  for (const char* text : {"", "bf", "f32[0]", "f32[2", "f32]", "f32[2],", "f32[-1]", "f32[2] x"}) {
    CHECK_FALSE(parse_message(text).has_value());
  }
}

}  // namespace
}  // namespace tilewire::device

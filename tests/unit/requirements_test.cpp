#include "runtime/nccl/requirements.h"

#include <cstring>
#include <string>

#include "compiler/support/error.h"
#include "runtime/nccl/struct_fields.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

/// A layout unlike NCCL's own, so that a test that ignores it fails. Defaults are 0x11.
NcclLayout odd_layout(const NcclVersion& version) {
  NcclLayout layout{.version = version};
  layout.requirements = std::string(64, '\x11');
  layout.requirement_fields = {{"lsaMultimem", {3, 1}},          {"lsaBarrierCount", {8, 4}},
                               {"railGinBarrierCount", {12, 4}}, {"ginForceEnable", {1, 1}},
                               {"ginContextCount", {16, 4}},     {"ginSignalCount", {20, 4}},
                               {"ginCounterCount", {24, 4}}};
  if (version >= NcclVersion{2, 29, 7}) layout.requirement_fields["ginConnectionType"] = {28, 4};
  if (version >= NcclVersion{2, 30, 0}) layout.requirement_fields["worldGinBarrierCount"] = {32, 4};
  return layout;
}

std::uint64_t field(const std::string& bytes, const char* name) {
  return read_field(bytes, odd_layout({2, 32, 3}).requirement_fields, name, ~0ull);
}

constexpr NcclVersion kVersions[] = {{2, 28, 7}, {2, 28, 9}, {2, 29, 2}, {2, 29, 3}, {2, 29, 7},
                                     {2, 30, 3}, {2, 30, 7}, {2, 31, 2}, {2, 32, 3}};
constexpr std::uint64_t kUntouched = 0x11111111;

}  // namespace

TEST_CASE("a world whose ranks reach each other asks NCCL for nothing", "[requirements]") {
  for (const NcclVersion& version : kVersions) {
    CAPTURE(version.to_string());
    CHECK(requirement_bytes(odd_layout(version), {}) == std::string(64, '\x11'));
  }
}

TEST_CASE("each version is told of the network in its own way", "[requirements]") {
  const DeviceNeeds needs{.gin_contexts = 4, .gin_signals = 65536, .gin_counters = 7};
  for (const NcclVersion& version : kVersions) {
    CAPTURE(version.to_string());
    const std::string bytes = requirement_bytes(odd_layout(version), needs);
    CHECK(field(bytes, "ginContextCount") == 4);
    CHECK(field(bytes, "ginSignalCount") == 65536);
    CHECK(field(bytes, "ginCounterCount") == 7);
    const bool has_type = version >= NcclVersion{2, 29, 7};
    CHECK(field(bytes, "ginForceEnable") == (has_type ? 0x11 : 1));
    CHECK(field(bytes, "ginConnectionType") == (has_type ? 1 : kUntouched));
    CHECK(field(bytes, "lsaMultimem") == 0x11);
    CHECK(field(bytes, "railGinBarrierCount") == kUntouched);
  }
}

TEST_CASE("barriers and multimem have fields of their own", "[requirements]") {
  for (const NcclVersion& version : kVersions) {
    CAPTURE(version.to_string());
    const std::string bytes = requirement_bytes(
        odd_layout(version), {.multimem = true, .lsa_barriers = 5, .rail_gin_barriers = 6});
    CHECK(field(bytes, "lsaMultimem") == 1);
    CHECK(field(bytes, "lsaBarrierCount") == 5);
    CHECK(field(bytes, "railGinBarrierCount") == 6);
    // A barrier over the rail is one over the network.
    const bool has_type = version >= NcclVersion{2, 29, 7};
    CHECK(field(bytes, has_type ? "ginConnectionType" : "ginForceEnable") == 1);
  }
}

TEST_CASE("what a version of NCCL hasn't is refused with the version that has it",
          "[requirements]") {
  const DeviceNeeds needs{.world_gin_barriers = 2};
  CHECK(field(requirement_bytes(odd_layout({2, 30, 3}), needs), "worldGinBarrierCount") == 2);
  CHECK_THROWS_WITH(requirement_bytes(odd_layout({2, 29, 7}), needs),
                    "NCCL 2.29.7 has no barriers over the world: it has them as of 2.30.3");
  CHECK_THROWS_WITH(
      requirement_bytes(odd_layout({2, 33, 0}), {}),
      test::contains("NCCL 2.33.0 (headers) is newer than what this tilewire knows: 2.28.7 or "
                     "newer, below 2.33.0\n"));
}

TEST_CASE("headers that lack a field of their version are refused", "[requirements]") {
  NcclLayout layout = odd_layout({2, 31, 2});
  layout.requirement_fields.erase("ginConnectionType");
  CHECK_THROWS_WITH(
      requirement_bytes(layout, {.gin_contexts = 1}),
      "NCCL 2.31.2: its headers have no field ginConnectionType, which they should have");
}

TEST_CASE("fields of NCCL's structs are written and read where the layout says", "[requirements]") {
  const NcclLayout layout{.version = {2, 28, 9}};
  const NcclFields fields = {{"byte", {1, 1}}, {"word", {4, 4}}, {"outside", {6, 4}}};
  std::string bytes(8, '\x7f');
  write_field(bytes, layout, fields, "byte", 1);
  write_field(bytes, layout, fields, "word", 0x01020304);
  CHECK(bytes == std::string("\x7f\x01\x7f\x7f\x04\x03\x02\x01", 8));
  CHECK(read_field(bytes, fields, "word", 0) == 0x01020304);
  CHECK(read_field(bytes, fields, "byte", 0) == 1);
  CHECK(read_field(bytes, fields, "absent", 9) == 9);
  CHECK_THROWS_AS(write_field(bytes, layout, fields, "outside", 1), InternalError);
  CHECK_THROWS_AS(write_field(bytes, layout, fields, "byte", 128), InternalError);
  CHECK_THROWS_AS(write_field(bytes, layout, fields, "word", -1), InternalError);
  CHECK_THROWS_AS(read_field(bytes, fields, "outside", 0), InternalError);
}

}  // namespace tilewire

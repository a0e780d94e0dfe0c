#include "compiler/passes/protocol.h"

#include "compiler/support/error.h"
#include "runtime/driver/launch_registry.h"
#include "runtime/driver/misfit.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

const Target kTwoRanks = Target::parse("sm_90a:world=2");

Protocol protocol(const std::string& declarations, const std::string& statements) {
  const Artifact artifact =
      describe(lower(program_of(declarations, statements, 2), kTwoRanks), kTwoRanks);
  return artifact.protocol;
}

const std::string kDeclarations =
    "  tensor %y: f32[N]\n  tensor %z: f32[M]\n  scalar %n: i32\n  dimension %N\n  dimension %M";
const std::string kBarrier =
    "barrier() {order = \"acq_rel\", scope = \"instance\", team = \"world\"}";

std::string loop_over(const std::string& extent) {
  return "  %zero = constant() {dtype = i64, value = 0}\n"
         "  %one = constant() {dtype = i64, value = 1}\n"
         "  for %i = range(%zero, " +
         extent + ", %one) {\n    " + kBarrier + "\n    yield\n  }";
}

}  // namespace

TEST_CASE("a launch's hash has the run-time integers that decide how often ranks meet") {
  // Arguments: y, z, n, then the strides, the extents N and M, the communicator, the lane.
  CHECK(protocol(kDeclarations, "  " + kBarrier).slots.empty());
  const Protocol over_m = protocol(kDeclarations, loop_over("%M"));
  REQUIRE(over_m.slots.size() == 1);
  const Protocol over_n = protocol(kDeclarations, loop_over("%N"));
  REQUIRE(over_n.slots.size() == 1);
  CHECK(over_n.slots[0] + 1 == over_m.slots[0]);
  const Protocol over_scalar =
      protocol(kDeclarations, "  %count = cast(%n) {dtype = i64}\n" + loop_over("%count"));
  CHECK(over_scalar.slots == std::vector<int>{2});
}

TEST_CASE("how often flags are set and waited for may differ by rank") {
  const std::string declarations = kDeclarations + "\n  flag %f: [4]";
  const std::string loop =
      "  %zero = constant() {dtype = i64, value = 0}\n"
      "  %one = constant() {dtype = i64, value = 1}\n"
      "  for %i = range(%zero, %N, %one) {\n"
      "    %at = slice(%f, %zero) {index = \"at\"}\n"
      "    set(%at)\n    %count = constant() {dtype = u32, value = 1}\n    wait(%at, %count)\n";
  CHECK(protocol(declarations, loop + "yield\n  }").slots.empty());
  CHECK(protocol(declarations, loop + kBarrier + "\nyield\n  }").slots.size() == 1);
}

TEST_CASE("what depends on the rank may differ by rank") {
  const Protocol of_rank =
      protocol(kDeclarations,
               "  %r = rank() {team = \"world\"}\n  %end = add(%r, %N)\n" + loop_over("%end"));
  CHECK(of_rank.slots.empty());
}

TEST_CASE("a launch's digest tells constants, types and waits apart") {
  const Protocol once = protocol(kDeclarations, "  " + kBarrier);
  CHECK(once.digest == protocol(kDeclarations, "  " + kBarrier).digest);
  CHECK(once.digest != protocol(kDeclarations, "  " + kBarrier + "\n  " + kBarrier).digest);
  CHECK(once.digest != protocol("  tensor %y: f16[N]\n  tensor %z: f32[M]\n  scalar %n: i32\n  "
                                "dimension %N\n  dimension %M",
                                "  " + kBarrier)
                           .digest);
  CHECK(once.name == "p()");
}

TEST_CASE("hashes of launches differ by grid and integers and are never 0") {
  const auto hash = [](std::uint64_t grid, std::uint64_t extent) {
    return LaunchHash(7).add(grid).add(extent).get();
  };
  CHECK(hash(1, 2) == hash(1, 2));
  CHECK(hash(1, 2) != hash(2, 1));
  for (std::uint64_t digest = 0; digest < 1000; ++digest) {
    CHECK(LaunchHash(digest).get() > device::kEndedHash);
    CHECK(LaunchHash(digest << 32).get() > device::kEndedHash);
  }
}

TEST_CASE("launches that don't fit are named") {
  register_launch(0xa1, "`sum(B=4)` on a grid of 8");
  register_launch(0xb2, "`norm()` on a grid of 16");
  CHECK_THROWS_WITH(raise_misfit({.is_valid = 1, .peer = 3, .own = 0xa1, .other = 0xb2}, 1, 2),
                    "ranks launched different things on lane 2: rank 1 `sum(B=4)` on a grid of 8, "
                    "rank 3 `norm()` on a grid of 16. All ranks must launch the same kernels, with "
                    "the same grids, constants and loop bounds, in one order. The lane has ended");
  CHECK_THROWS_AS(raise_misfit({.is_valid = 1, .peer = 3, .own = 0xa1, .other = 0xb2}, 1, 2),
                  HangError);
  CHECK_THROWS_AS(raise_misfit({.is_valid = 1, .peer = 1, .own = 0xa1, .other = 0xb2}, 1, 2),
                  UserError);
  CHECK(describe_misfit({.is_valid = 1, .peer = 1, .own = 0xa1, .other = 0xb2}, 1, 0) ==
        describe_misfit({.is_valid = 1, .peer = 1, .own = 0xa1, .other = 0xb2u - 0xa1u}, 1, 0));
  CHECK(
      describe_misfit({.is_valid = 1, .peer = 3, .own = 0xa1, .other = device::kEndedHash}, 1, 2) ==
      "lane 2 has ended on rank 3: a launch on it failed there, or launches didn't fit together. "
      "Rank 1 gave up on `sum(B=4)` on a grid of 8");
  CHECK_THAT(describe_misfit({.is_valid = 1, .peer = 1, .own = 0xa1, .other = 0xa1}, 1, 0),
             test::contains("two launches of lane 0 ran at once on rank 1: `sum(B=4)` on a grid of "
                            "8 and `sum(B=4)` on a grid of 8"));
}

}  // namespace tilewire

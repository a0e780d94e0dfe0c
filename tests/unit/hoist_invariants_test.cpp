#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

const std::string kDeclarations =
    "  tensor %x: f32[64]\n  tensor %y: f32[64]\n  scalar %n: i64\n  scalar %s: f32";

std::string hoisted(const std::string& statements) {
  return body_of(hoist_invariants(program_of(kDeclarations, statements)));
}

const std::string kHead =
    "%c0 = constant() {dtype = i64, value = 0}: i64\n"
    "%c1 = constant() {dtype = i64, value = 1}: i64\n";

}  // namespace

TEST_CASE("pure ops that don't depend on the loop move in front of it, with what they need") {
  CHECK(hoisted(kHead + "for %i = range(%c0, %n, %c1) {\n"
                        "  %two = constant() {dtype = f32, value = 2.0}: f32\n"
                        "  %scale = mul(%s, %two): f32\n"
                        "  %j = mul(%i, %i): i64\n"
                        "  yield\n}") == "\n" + kHead +
                                             "%two = constant() {dtype = f32, value = 2.0}: f32\n"
                                             "%scale = mul(%s, %two): f32\n"
                                             "for %i = range(%c0, %n, %c1) {\n"
                                             "  %j = mul(%i, %i): i64\n"
                                             "  yield\n}\n");
}

TEST_CASE("ops move out of all loops that they don't depend on") {
  CHECK(hoisted(kHead + "for %i = range(%c0, %n, %c1) {\n"
                        "  for %j = range(%c0, %n, %c1) {\n"
                        "    %a = exp(%s): f32\n"
                        "    %b = mul(%i, %n): i64\n"
                        "    %c = add(%b, %j): i64\n"
                        "    yield\n  }\n"
                        "  yield\n}") == "\n" + kHead +
                                             "%a = exp(%s): f32\n"
                                             "for %i = range(%c0, %n, %c1) {\n"
                                             "  %b = mul(%i, %n): i64\n"
                                             "  for %j = range(%c0, %n, %c1) {\n"
                                             "    %c = add(%b, %j): i64\n"
                                             "    yield\n  }\n"
                                             "  yield\n}\n");
}

TEST_CASE("reads, writes, free ops and what the loop carries stay") {
  const std::string loop =
      "%p = address(%x, %c0): pointer<f32>\n"
      "%sum = for %i = range(%c0, %n, %c1) carry (%acc = %s): f32 {\n"
      "  %zeros = full(%s) {shape = [64]}: tile<f32[64], vector 4>\n"
      "  %tile = tile_load(%p) {masked = [0], shape = [64], strides = [1], vector = 4}: "
      "tile<f32[64], vector 4>\n"
      "  tile_store(%p, %zeros) {masked = [0], shape = [64], strides = [1], vector = 4}\n"
      "  %next = add(%acc, %s): f32\n"
      "  yield %next\n}\n";
  CHECK(hoisted(kHead + loop) == "\n" + kHead + loop);
}

TEST_CASE("loads of constant tensors move, past stores too") {
  const std::string load =
      "%tile = tile_load(%p) {constant = true, masked = [0], shape = [4], strides = [1], vector = "
      "4}: tile<f32[4], vector 4>\n";
  const std::string store =
      "  tile_store(%q, %tile) {masked = [0], shape = [4], strides = [1], vector = 4}\n";
  const std::string addresses =
      "%p = address(%x, %c0): pointer<f32>\n%q = address(%y, %c0): pointer<f32>\n";
  const std::string loop = "for %i = range(%c0, %n, %c1) {\n";
  CHECK(hoisted(kHead + addresses + loop + "  " + load + store + "  yield\n}") ==
        "\n" + kHead + addresses + load + loop + store + "  yield\n}\n");
}

TEST_CASE("large tiles stay: they would take registers over the whole loop") {
  const auto with = [](const std::string& extent) {
    return hoisted(kHead +
                   "for %i = range(%c0, %n, %c1) {\n"
                   "  %ramp = arange() {start = 0, stop = " +
                   extent + "}: tile<i32[" + extent +
                   "], vector 4>\n"
                   "  %square = mul(%ramp, %ramp): tile<i32[" +
                   extent + "], vector 4>\n  yield\n}");
  };
  // num_threads is 0 in this program: one thread holds all.
  CHECK(with("16").find("%square") < with("16").find("for"));
  CHECK(with("32").find("%square") > with("32").find("for"));
}

}  // namespace tilewire

#include <string>

#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

std::string legalised(const std::string& statements, const std::string& target = "cpu:world=2x2") {
  const Target parsed = Target::parse(target);
  const char* declarations =
      "window %x: f32[4, 64]\nwindow %y: f32[64]\nsemaphore %s: [4]\nchannel %c: [4] {carrying = "
      "\"tagged\", depth = 1, message = \"f32\"}\nscalar %r: i64\nscalar %v: f32";
  return body_of(canonicalise(legalise_communication(
      program_of(declarations, statements, parsed.world_size, parsed.lsa_size), parsed)));
}

std::string barrier(const std::string& team, const std::string& scope = "instance") {
  return "barrier() {order = \"release\", scope = \"" + scope + "\", team = \"" + team + "\"}\n";
}

/// Whether `r` is in reach on `cpu:world=2x2`.
constexpr const char* kIsNear = R"(
%c2 = constant() {dtype = i64, value = 2}: i64
%rank = rank() {team = "world"}: i64
%floordiv = floordiv(%r, %c2): i64
%floordiv_1 = floordiv(%rank, %c2): i64
%eq = eq(%floordiv, %floordiv_1): bool
)";

}  // namespace

TEST_CASE("a barrier of the world meets far ranks over the network, then the team-mates") {
  CHECK(legalised(barrier("world") + barrier("world")) == R"(
network_barrier() {order = "release", site = 0, team = "world"}
lsa_barrier() {order = "release", site = 1, world = true}
network_barrier() {order = "release", site = 2, team = "world"}
lsa_barrier() {order = "release", site = 3, world = true}
)");
  CHECK(legalised(barrier("world"), "cpu:world=4x1") ==
        "\nnetwork_barrier() {order = \"release\", site = 0, team = \"world\"}\n");
  CHECK(legalised(barrier("rail")) ==
        "\nnetwork_barrier() {order = \"release\", site = 0, team = \"rail\"}\n");
  for (const std::string team : {"world", "rail"}) {
    CHECK(legalised(barrier(team, "grid")) ==
          "\nnetwork_grid_barrier() {order = \"release\", site = 0, team = \"" + team + "\"}\n");
  }
  CHECK(legalised(barrier("rail"), "cpu:world=1x4") == "\n");
}

TEST_CASE("a put goes to the LSA rank or over the network, with its views in both branches") {
  const char* put = R"(%a = at(%x, %r) {team = ""}
%row = slice(%a, %r) {index = "at, all"}
put(%row, %y)
)";
  CHECK(legalised(put) == std::string(kIsNear) + R"(if %eq {
  %mod = mod(%r, %c2): i64
  %at = at(%x, %mod) {team = "lsa"}: window<f32[4, 64]>
  %slice = slice(%at, %r) {index = "at, all"}: window<f32[64]>
  put(%slice, %y)
  yield
} else {
  %at_1 = at(%x, %r) {team = "network"}: window<f32[4, 64]>
  %slice_1 = slice(%at_1, %r) {index = "at, all"}: window<f32[64]>
  put(%slice_1, %y)
  yield
}
)");
  CHECK(legalised(put, "cpu:world=4x1").find("team = \"lsa\"") == std::string::npos);
  CHECK(legalised(put, "cpu:world=4").find("if") == std::string::npos);
}

TEST_CASE("a get in reach is a put; over the network it stays one") {
  const char* get = "%a = at(%y, %r) {team = \"world\"}\nget(%y, %a)\nflush()\n";
  CHECK(legalised(get) == std::string(kIsNear) + R"(if %eq {
  %mod = mod(%r, %c2): i64
  %at = at(%y, %mod) {team = "lsa"}: window<f32[64]>
  put(%y, %at)
  yield
} else {
  %at_1 = at(%y, %r) {team = "network"}: window<f32[64]>
  get(%y, %at_1)
  yield
}
network_flush()
)");
  CHECK(legalised(get, "cpu:world=2") ==
        "\n%a = at(%y, %r) {team = \"lsa\"}: window<f32[64]>\nput(%y, %a)\n");
}

TEST_CASE("what an if says about a rank's reach is not asked again") {
  const auto branches = [](const std::string& condition) {
    return legalised("%t = is_lsa(%r)\n" + condition + R"( {
  %a = at(%y, %r) {team = ""}
  put(%a, %y)
  yield
} else {
  %b = at(%y, %r) {team = ""}
  put(%b, %y)
  yield
}
)");
  };
  const std::string near = R"(
  %mod = mod(%r, %c2): i64
  %a = at(%y, %mod) {team = "lsa"}: window<f32[64]>
  put(%a, %y)
  yield
)";
  const std::string far = R"(
  %at = at(%y, %r) {team = "network"}: window<f32[64]>
  put(%at, %y)
  yield
)";
  CHECK(branches("if %t") == kIsNear + ("if %eq {" + near + "} else {" + far + "}\n"));
  const std::string turned = branches("%n = not(%t)\nif %n");
  CHECK(turned.find("else {\n  %mod") != std::string::npos);
  CHECK(turned.find("  if") == std::string::npos);
}

TEST_CASE("the rail's ranks are those with the same place in each team") {
  CHECK(legalised("%a = at(%y, %r) {team = \"rail\"}\nput(%a, %y)\n") == R"(
%rank = rank() {team = "world"}: i64
%c2 = constant() {dtype = i64, value = 2}: i64
%floordiv = floordiv(%rank, %c2): i64
%eq = eq(%r, %floordiv): bool
if %eq {
  put(%y, %y)
  yield
} else {
  %mul = mul(%r, %c2): i64
  %mod = mod(%rank, %c2): i64
  %add = add(%mul, %mod): i64
  %at = at(%y, %add) {team = "network"}: window<f32[64]>
  put(%at, %y)
  yield
}
)");
}

TEST_CASE("waits and messages learn that the network may bring something") {
  const std::string wait = R"(%i = slice(%s, %r) {index = "at"}
%n = constant() {dtype = u32, value = 1}
wait(%i, %n)
)";
  CHECK(legalised(wait).find("wait(%i, %n) {network = true, site = 0}") != std::string::npos);
  CHECK(legalised(wait, "cpu:world=4").find("wait(%i, %n) {site = 0}") != std::string::npos);
  CHECK(legalised(wait, "cpu:world=2x2,gin=0").find("network") == std::string::npos);
  const std::string send = R"(%a = at(%c, %r) {team = "lsa"}
%i = slice(%a, %r) {index = "at"}
send(%i, %v)
)";
  CHECK(legalised(send) == R"(
%c2 = constant() {dtype = i64, value = 2}: i64
%rank = rank() {team = "world"}: i64
%floordiv = floordiv(%rank, %c2): i64
%mul = mul(%floordiv, %c2): i64
%add = add(%mul, %r): i64
%a = at(%c, %add) {team = "network"}: channel<[4]>
%i = slice(%a, %r) {index = "at"}: channel<[]>
send(%i, %v) {network = true, site = 0}
)");
}

}  // namespace tilewire

#include <string>

#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

std::string legalised(const std::string& statements, const std::string& target) {
  const Target parsed = Target::parse(target);
  return body_of(legalise_communication(program_of("window %x: f32[64]\nscalar %r: i64", statements,
                                                   parsed.world_size, parsed.lsa_size),
                                        parsed));
}

std::string barrier(const std::string& team, const std::string& scope = "instance") {
  return "barrier() {order = \"release\", scope = \"" + scope + "\", team = \"" + team + "\"}\n";
}

constexpr const char* kNothing = "\n";
constexpr const char* kLsaBarrier = "\nlsa_barrier() {order = \"release\", site = 0}\n";

}  // namespace

TEST_CASE("barriers in a world of one go") {
  for (const char* team : {"world", "lsa", "rail", "local"}) {
    CHECK(legalised(barrier(team), "sm_90a:world=1") == kNothing);
  }
}

TEST_CASE("barriers between ranks that reach each other are LSA barriers") {
  CHECK(legalised(barrier("world"), "cpu:world=2") == kLsaBarrier);
  CHECK(legalised(barrier("lsa"), "cpu:world=2") == kLsaBarrier);
  CHECK(legalised(barrier("lsa"), "cpu:world=2x2") == kLsaBarrier);
  CHECK(legalised(barrier("rail"), "cpu:world=2") == kNothing);
  CHECK(legalised(barrier("local"), "cpu:world=2x2") == kNothing);
  CHECK(legalised(barrier("lsa"), "cpu:world=4x1") == kNothing);
}

TEST_CASE("barriers that no transport carries are refused") {
  for (const char* team : {"world", "rail"}) {
    for (const char* scope : {"instance", "grid"}) {
      CHECK_THROWS_AS(legalised(barrier(team, scope), "cpu:world=2x2,gin=0"), UserError);
    }
  }
}

TEST_CASE("barriers of all instances are of this rank or of those that it reaches") {
  const auto carried = [](const std::string& team, const std::string& target) {
    return legalised(barrier(team, "grid"), target);
  };
  const std::string local = "\ngrid_barrier() {order = \"release\", site = 0, team = \"local\"}\n";
  const std::string lsa = "\ngrid_barrier() {order = \"release\", site = 0, team = \"lsa\"}\n";
  for (const char* team : {"world", "lsa", "rail", "local"}) {
    CHECK(carried(team, "cpu:world=1") == local);
  }
  CHECK(carried("world", "cpu:world=2") == lsa);
  CHECK(carried("lsa", "cpu:world=2x2") == lsa);
  CHECK(carried("rail", "cpu:world=2") == local);
  CHECK(carried("local", "cpu:world=2x2") == local);
  CHECK(carried("lsa", "cpu:world=4x1") == local);
}

TEST_CASE("places that wait are numbered in program order") {
  CHECK(legalised(barrier("world") + "%c = constant() {dtype = bool, value = true}\nif %c {\n" +
                      barrier("lsa") + "yield\n} else {\nyield\n}\n" + barrier("rail") +
                      barrier("world"),
                  "cpu:world=2") == R"(
lsa_barrier() {order = "release", site = 0}
%c = constant() {dtype = bool, value = true}: bool
if %c {
  lsa_barrier() {order = "release", site = 1}
  yield
} else {
  yield
}
lsa_barrier() {order = "release", site = 2}
)");
}

TEST_CASE("a rank's copy of a window") {
  const auto copy = [](const std::string& team, const std::string& target) {
    return legalised("%a = at(%x, %r) {team = \"" + team + "\"}\n%t = load(%a)\n", target);
  };
  const std::string reached =
      "\n%a = at(%x, %r) {team = \"lsa\"}: window<f32[64]>\n%t = load(%a): tile<f32[64]>\n";
  const std::string own = "\n%t = load(%x): tile<f32[64]>\n";
  CHECK(copy("", "cpu:world=2") == reached);
  CHECK(copy("world", "cpu:world=2") == reached);
  CHECK(copy("lsa", "cpu:world=2x2") == reached);
  CHECK(copy("", "cpu:world=1") == own);
  CHECK(copy("lsa", "cpu:world=4x1") == own);
  CHECK(copy("rail", "cpu:world=2") == own);
  for (const char* team : {"", "world", "rail"}) {
    CHECK_THROWS_AS(copy(team, "cpu:world=2x2"), UserError);
  }
}

}  // namespace tilewire

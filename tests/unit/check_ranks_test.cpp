#include <string>

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// The assertions in front of `use`, which is done to `%a`, rank %r of a team.
std::string checked(const std::string& target, const std::string& team, const std::string& use,
                    const std::string& of = "y") {
  const Target parsed = Target::parse(target);
  const std::string at = "%a = at(%" + of + ", %r) {team = \"" + team + "\"}\n";
  const char* declarations =
      "window %y: f32[64]\nsemaphore %s: [4]\nchannel %c: [4] {carrying = \"tagged\", depth = 1, "
      "message = \"f32\"}\nscalar %r: i64\nscalar %v: f32";
  const std::string body = body_of(
      check_ranks(program_of(declarations, at + use, parsed.world_size, parsed.lsa_size), parsed));
  std::string found;
  for (std::size_t from = body.find("assert"); from != std::string::npos;
       from = body.find("assert", from + 1)) {
    found += body.substr(from, body.find('\n', from) - from);
  }
  return found;
}

const std::string kPut = "put(%a, %y)\n";
const std::string kSend = "%i = slice(%a, %r) {index = \"at\"}\nsend(%i, %v)\n";

}  // namespace

TEST_CASE("the rail's ranks are checked, which later passes count in the world") {
  for (const std::string target : {"cpu:world=2x2", "cpu:world=4", "cpu:world=4x1"}) {
    INFO(target);
    const std::string found = checked(target, "rail", kPut);
    CHECK(found.find("put: `y.at(r, team=tw.rail)`: the rail has no rank r; keep r in it, by `r % "
                     "tw.world_size(tw.rail)` or under an `if`") != std::string::npos);
    CHECK(checked(target, "rail", kSend, "c").find("`c.at(r, team=tw.rail)`") != std::string::npos);
  }
  CHECK(checked("cpu:world=6x2", "rail", kPut).find("ranks are 0 to 5") != std::string::npos);
}

TEST_CASE("ranks of a team of one are checked") {
  CHECK(checked("cpu:world=1", "", kPut)
            .find("`y.at(r)`: the world has no rank r; keep r in it, by "
                  "`r % tw.world_size()`") != std::string::npos);
  CHECK(checked("cpu:world=4x1", "lsa", kPut).find("ranks are 0 to 0") != std::string::npos);
}

TEST_CASE("where loads, stores and the network find out, nothing is checked before") {
  CHECK(checked("cpu:world=2x2", "", kPut).empty());
  CHECK(checked("cpu:world=2x2", "lsa", kPut).empty());
  CHECK(checked("cpu:world=4", "lsa", kSend, "c").empty());
}

TEST_CASE("on GPUs, nothing finds out later") {
  const std::string target = "sm_90a:world=4,lsa=2,gin=1";
  CHECK(checked(target, "", kPut).find("ranks are 0 to 3") != std::string::npos);
  CHECK(checked(target, "lsa", kPut).find("the LSA team has no rank r") != std::string::npos);
  CHECK(checked(target, "rail", kPut).find("the rail has no rank r") != std::string::npos);
  CHECK(checked(target, "", kSend, "c").find("send: `c.at(r)`") != std::string::npos);
}

TEST_CASE("channels count ranks in the world, and would take a team's for another one's") {
  CHECK(checked("cpu:world=2x2", "lsa", kSend, "c").find("ranks are 0 to 1") != std::string::npos);
  CHECK(checked("cpu:world=2x2", "", kSend, "c").empty());
}

TEST_CASE("a place where nothing is done is not checked, nor a rank that is known to be there") {
  CHECK(checked("cpu:world=2x2", "rail", "").empty());
  CHECK(checked("cpu:world=2x2", "rail", "%e = extent(%a) {dimension = 0}\n").empty());
  const std::string known = "%k = constant() {dtype = i64, value = ";
  const auto at = [&](const std::string& number) {
    return checked("cpu:world=2x2", "rail",
                   known + number + "}\n%b = at(%y, %k) {team = \"rail\"}\nput(%b, %y)\n");
  };
  CHECK(at("1").empty());
  CHECK(at("2").find("the rail has no rank r") != std::string::npos);
}

}  // namespace tilewire

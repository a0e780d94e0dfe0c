#include <string>

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

std::string chosen(const std::string& statements, const std::string& target,
                   const std::string& dtype = "bf16") {
  const Target parsed = Target::parse(target);
  return body_of(choose_multimem(program_of("window %x: " + dtype + "[64]\nscalar %v: " + dtype,
                                            statements, parsed.world_size, parsed.lsa_size),
                                 parsed));
}

std::string load(const std::string& order, const std::string& team = "world") {
  return "%t = all_reduce_load(%x) {order = \"" + order + "\", team = \"" + team + "\"}\n";
}

/// The same, left as it is.
std::string kept(const std::string& order, const std::string& dtype = "f32") {
  std::string text = load(order);
  text.pop_back();
  return "\n" + text + ": tile<" + dtype + "[64]>\n";
}

}  // namespace

TEST_CASE("sums in any order are multicast reductions where there are some") {
  const std::string made = chosen(load("any"), "sm_90a:world=2,multimem=1");
  CHECK(count_of(made, "multicast(%x)") == 1);
  CHECK(count_of(made, "multicast = true") == 1);
  for (const char* target :
       {"sm_90a:world=2", "sm_90a:world=1,multimem=1", "sm_90a:world=2x2,multimem=1"}) {
    CHECK(chosen(load("any"), target) == kept("any"));
  }
  CHECK(chosen(load("rank"), "sm_90a:world=2,multimem=1") == kept("rank"));
  CHECK(count_of(chosen(load("any", "lsa"), "cpu:world=2x2,multimem=1"), "multicast(%x)") == 1);
  CHECK(chosen(load("any"), "sm_90a:world=2,multimem=1", "i16") == kept("any", "i32"));
}

TEST_CASE("a multicast view of a team of one is the window") {
  CHECK(chosen("%m = multicast(%x) {team = \"world\"}\n%s = slice(%m) {index = \"all\"}\n"
               "store(%s, %v)\n",
               "sm_80:world=1") ==
        "\n%s = slice(%x) {index = \"all\"}: window<bf16[64]>\nstore(%s, %v)\n");
  CHECK(chosen("%m = multicast(%x) {team = \"world\"}\n"
               "%t = all_reduce_load(%m) {multicast = true, order = \"any\", team = \"world\"}\n",
               "sm_90a:world=1") ==
        "\n%load = load(%x): tile<bf16[64]>\n%cast = cast(%load) {dtype = f32}: tile<f32[64]>\n");
}

}  // namespace tilewire

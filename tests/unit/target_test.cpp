#include "compiler/jit/target.h"

#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {

TEST_CASE("a target's text fills in what is left out") {
  const auto canonical = [](std::string_view text) { return Target::parse(text).to_string(); };
  CHECK(canonical("cpu") == "cpu:world=1,lsa=1,multimem=0,gin=0");
  CHECK(canonical("cpu:world=8") == "cpu:world=8,lsa=8,multimem=0,gin=0");
  CHECK(canonical("cpu:world=2x4") == "cpu:world=8,lsa=4,multimem=0,gin=1");
  CHECK(canonical("cpu:world=2x4,lsa=4,gin=0") == "cpu:world=8,lsa=4,multimem=0,gin=0");
  CHECK(canonical("sm_90a:world=2,lsa=2,multimem=0,gin=0") ==
        "sm_90a:world=2,lsa=2,multimem=0,gin=0");
  CHECK(canonical("sm_100f:multimem=1,world=16,lsa=8") ==
        "sm_100f:world=16,lsa=8,multimem=1,gin=1");
  CHECK(canonical("sm_90a:world=2x2,gin=virtual") == "sm_90a:world=4,lsa=2,multimem=0,gin=virtual");
}

TEST_CASE("a target's fields") {
  const Target target = Target::parse("sm_90a:world=4,lsa=2,multimem=1");
  CHECK(target.is_cuda());
  CHECK(target.architecture == "sm_90a");
  CHECK(target.compute_capability == 90);
  CHECK(target.world_size == 4);
  CHECK(target.lsa_size == 2);
  CHECK(target.multimem);
  CHECK(target.gin);
  CHECK_FALSE(Target::parse("cpu").is_cuda());
  CHECK(Target::parse("sm_120:world=1").compute_capability == 120);
  CHECK(Target::parse(target.to_string()) == target);
}

TEST_CASE("no text crashes the target parser") {
  for (const char* text : {"",
                           ":",
                           "cpu:",
                           "cpu:,",
                           "cpu:world",
                           "cpu:world=",
                           "cpu:world=x",
                           "cpu:world=2x",
                           "cpu:world=x2",
                           "cpu:world=-1",
                           "cpu:world=0",
                           "cpu:world=99999999999999999999",
                           "cpu:world=60000x60000",
                           "sm_",
                           "sm_9",
                           "sm_90aa",
                           "sm_a",
                           "sm_-90",
                           "sm_9000",
                           "gpu",
                           "CPU",
                           "cpu:lsa=2",
                           "cpu:world=2 ",
                           "cpu:world=2,",
                           "cpu:world=3x2,lsa=3",
                           "cpu:gin=2",
                           "cpu:world=2x2,gin=virtual",
                           "cpu:multimem=yes",
                           "cpu:world=2,world=2",
                           "sm_80:multimem=1"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(Target::parse(text), UserError);
  }
}

}  // namespace tilewire

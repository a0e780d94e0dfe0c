#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, divides") {
  CHECK(message_of<UserError>([] { Target::parse("cpu:world=3,lsa=2"); }) ==
        "target `cpu:world=3,lsa=2`: `lsa=2` does not divide `world=3`. "
        "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

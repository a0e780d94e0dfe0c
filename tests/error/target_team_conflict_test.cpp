#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, team conflict") {
  CHECK(message_of<UserError>([] { Target::parse("cpu:world=2x4,lsa=2"); }) ==
        "target `cpu:world=2x4,lsa=2`: `world=2x4` has 4 ranks in a team, but `lsa=2` says "
        "otherwise. "
        "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

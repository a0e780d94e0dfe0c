#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, old architecture") {
  CHECK(message_of<UserError>([] { Target::parse("sm_60"); }) ==
        "target `sm_60`: `sm_60` is too old; `sm_70` is the oldest that works. "
        "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

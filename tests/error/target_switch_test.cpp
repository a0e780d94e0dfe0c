#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, switch") {
  CHECK(message_of<UserError>([] { Target::parse("cpu:gin=yes"); }) ==
        "target `cpu:gin=yes`: `gin=yes` is neither 0 nor 1. "
        "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

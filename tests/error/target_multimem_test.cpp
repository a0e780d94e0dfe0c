#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, multimem") {
  CHECK(message_of<UserError>([] { Target::parse("sm_80:multimem=1"); }) ==
        "target `sm_80:multimem=1`: `multimem=1` needs `sm_90` or newer, and `sm_80` is not. "
        "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

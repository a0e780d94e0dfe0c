#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, architecture") {
  CHECK(message_of<UserError>([] { Target::parse("gpu:world=2"); }) ==
        "target `gpu:world=2`: `gpu` is no architecture; use `cpu` or an `sm_` number such as "
        "`sm_90a`. "
        "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, unknown field") {
  CHECK(
      message_of<UserError>([] { Target::parse("cpu:size=2"); }) ==
      "target `cpu:size=2`: there is no field `size`; the fields are world, lsa, multimem and gin. "
      "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

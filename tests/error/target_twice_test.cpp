#include "compiler/jit/target.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: target, twice") {
  CHECK(message_of<UserError>([] { Target::parse("cpu:lsa=1,lsa=1"); }) ==
        "target `cpu:lsa=1,lsa=1`: `lsa` is given twice. "
        "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`");
}

}  // namespace tilewire

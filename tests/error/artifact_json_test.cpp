#include "compiler/jit/artifact.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a cached description of another kind") {
  CHECK(message_of<BackendError>([] { artifact_from_json("{\"kernel\": \"k\"}"); }) ==
        "the description of a kernel can't be read: "
        "[json.exception.out_of_range.403] key 'entry' not found");
}

}  // namespace tilewire

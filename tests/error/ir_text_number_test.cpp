#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, number") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  const N = 99999999999999999999
} body {
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:2: `99999999999999999999` is no number that fits in 64 bits");
}

}  // namespace tilewire

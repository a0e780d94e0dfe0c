#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, fact") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  tensor %a: f32[4] {alignment = 0}
} body {
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:2: `alignment = 0` is no fact about a parameter; those are `contiguous = true`, "
        "`alignment = 16`, `local_only = true` and `mappable = true`");
}

}  // namespace tilewire

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, invalid") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  scalar %a: f32
} body {
  %b = add(%a, %a): f64 @ 7:1
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "f.py:7: invalid IR: add: result 0 has type f64, but must have f32");
}

}  // namespace tilewire

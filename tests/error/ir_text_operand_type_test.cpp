#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, operand type") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  scalar %a: bool
} body {
  %b = add(%a, %a) @ 7:1
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:4: add: bool has no arithmetic; cast it, or use and, or, xor");
}

}  // namespace tilewire

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, end") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
} body {
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:3: expected a statement, found the end of the text");
}

}  // namespace tilewire

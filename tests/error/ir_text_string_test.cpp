#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, string") {
  const char* const text = R"(program @p from "f.py
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:1: this string has no end");
}

}  // namespace tilewire

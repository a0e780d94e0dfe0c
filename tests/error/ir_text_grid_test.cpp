#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, grid") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 grid [T] {
} body {
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:1: there is no dimension `T`");
}

}  // namespace tilewire

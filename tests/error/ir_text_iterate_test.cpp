#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, iterate") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  dimension %T
} body {
  for %i = backwards(%T, %T, %T) {
  }
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:4: a loop goes through range, persistent, ranks or peers, not `backwards`");
}

}  // namespace tilewire

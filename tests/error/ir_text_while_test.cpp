#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, while") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  dimension %T
} body {
  %a = while carry (%c = %T): i64 {
    %d = lt(%c, %T)
    yield %d
  } do {
    yield %T
  }
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:7: a loop that carries 1 values names 0 in `do`");
}

}  // namespace tilewire

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, carried") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  dimension %T
} body {
  %a, %b = for %i = range(%T, %T, %T) carry (%c = %T): i64, i64 {
  }
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:4: a loop that carries 1 values gives 2 results");
}

}  // namespace tilewire

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, bounds") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  dimension %T
} body {
  for %i = range(%T, %T) {
  }
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:4: a loop takes lower bound, upper bound and step");
}

}  // namespace tilewire

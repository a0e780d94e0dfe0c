#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: IR text, type") {
  const char* const text = R"(program @p from "f.py" world 1 lsa 1 {
  scalar %a: f32
} body {
  %b = neg(%a): block<f32>
}
)";
  CHECK(message_of<UserError>([&] { parse_program(text); }) ==
        "<ir text>:4: `block` is no type; types are a dtype, `tile<…>`, `view<…>`, `window<…>`, "
        "`semaphore<…>`, `flag<…>`, `channel<…>` and `pointer<…>`");
}

}  // namespace tilewire

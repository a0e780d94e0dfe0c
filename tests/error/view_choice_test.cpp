#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a view chosen by an if") {
  Program program = parse_program(R"(program @p from "f.py" world 1 lsa 1 {
  tensor %a: f32[64]
  tensor %b: f32[64]
  scalar %c: bool
} body {
  %v = if %c: view<f32[64]> @ 7:5 {
    yield %a @ 8:9
  } else {
    yield %b @ 9:9
  }
})");
  CHECK(message_of<UserError>([&] { lower_views(std::move(program)); }) ==
        "f.py:8: a view can't be chosen by `if` or carried by a loop; choose or carry its indices, "
        "and slice with them");
}

}  // namespace tilewire

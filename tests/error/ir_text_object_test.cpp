#include <string>

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {
namespace {

std::string message_for(const std::string& declaration) {
  const std::string text =
      "program @p from \"f.py\" world 1 lsa 1 {\n  " + declaration + "\n} body {\n}\n";
  return message_of<UserError>([&] { parse_program(text); });
}

}  // namespace

TEST_CASE("error: IR text, an object with attributes") {
  CHECK(message_for("semaphore %s: [8] {alignment = 16}") ==
        "<ir text>:2: a semaphore has no attributes");
}

TEST_CASE("error: IR text, what a channel carries") {
  const std::string wanted =
      "<ir text>:2: a channel says what it carries, like {carrying = \"tagged\", depth = 2, "
      "message = "
      "\"bf16[2048], f32\"}; it is carried \"tagged\", \"exchange\" or \"reserved\"";
  for (const char* attributes :
       {" {carrying = \"tagged\", depth = 1}",
        " {carrying = \"other\", depth = 1, message = \"f32\"}",
        " {carrying = \"tagged\", depth = 1, message = \"f33\"}",
        " {carrying = \"tagged\", depth = 1, message = \"f32\", more = 1}"}) {
    CHECK(message_for(std::string("channel %c: [2]") + attributes) == wanted);
  }
}

TEST_CASE("error: IR text, objects that can't be") {
  CHECK_THAT(message_for("semaphore %s: [T]\n  dimension %T"),
             test::contains("`s`: the extents of a semaphore are numbers above 0"));
  CHECK_THAT(message_for("flag %f: [0]"),
             test::contains("`f`: the extents of a flag are numbers above 0"));
  CHECK_THAT(message_for("channel %c: [1] {carrying = \"reserved\", depth = 1, message = \"i32\"}"),
             test::contains("signed_zero=False is for floats, the message has i32"));
  CHECK_THAT(message_for("window %w: f32[4] {rotate = 1}"),
             test::contains("`w` can't rotate over 1 copies"));
}

}  // namespace tilewire

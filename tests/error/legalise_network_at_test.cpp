#include <fmt/format.h>

#include "compiler/ir/text.h"
#include "compiler/passes/lower.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a copy on a rank that memory doesn't reach") {
  Program program = parse_program(R"(program @p from "f.py" world 4 lsa 2 {
  window %w: f32[64]
  scalar %r: i64
} body {
  %a = at(%w, %r) {team = ""} @ 7:5
  %s = slice(%a) {index = "all"} @ 7:9
  put(%s, %w) @ 8:5
  %t = load(%s) @ 9:5
})");
  CHECK(message_of<UserError>(
            [&] { legalise_communication(std::move(program), Target::parse("cpu:world=2x2")); }) ==
        "f.py:7: at: load reaches the 2 ranks of the LSA team, not all 4 of the world, on "
        "`cpu:world=4,lsa=2,multimem=0,gin=1`; write `.at(r, team=tw.lsa)`, with r counted in that "
        "team, or put it under `if tw.is_lsa(r):`. Any rank is reached by put, put_value, get, "
        "signal and send");
}

TEST_CASE("error: what adds to a rank that memory doesn't reach is called as in the program") {
  Program program = parse_program(R"(program @p from "f.py" world 4 lsa 2 {
  window %w: f32[]
  scalar %r: i64
  scalar %v: f32
} body {
  %a = at(%w, %r) {team = ""} @ 7:5
  %t = atomic(%a, %v) {kind = "add", order = "relaxed", scope = "system"} @ 8:5
})");
  CHECK(message_of<UserError>([&] {
          legalise_communication(std::move(program), Target::parse("cpu:world=2x2"));
        }).starts_with("f.py:7: at: add reaches the 2 ranks of the LSA team, not all 4 of"));
}

TEST_CASE("error: a wait for what belongs to another rank, whether memory reaches it or not") {
  for (const char* target : {"cpu:world=2x2", "cpu:world=4"}) {
    const Target parsed = Target::parse(target);
    Program program = parse_program(
        fmt::format("program @p from \"f.py\" world 4 lsa {} {{\n"
                    "  semaphore %s: [2]\n  scalar %r: i64\n  scalar %n: u32\n}} body {{\n"
                    "  %a = at(%s, %r) {{team = \"\"}} @ 7:5\n"
                    "  %e = slice(%a, %r) {{index = \"at\"}} @ 7:9\n"
                    "  wait(%e, %n) @ 8:5\n}}",
                    parsed.lsa_size));
    CHECK(message_of<UserError>([&] { lower(std::move(program), parsed); }) ==
          "f.py:8: wait: waits on this rank's own; leave out `.at(…)`");
  }
}

}  // namespace tilewire

#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a multicast address of a world in several LSA teams") {
  Program program = parse_program(R"(program @p from "f.py" world 4 lsa 2 {
  window %w: f32[64]
} body {
  %a = multicast(%w) {team = "world"} @ 7:5
})");
  CHECK(message_of<UserError>([&] {
          choose_multimem(std::move(program), Target::parse("cpu:world=2x2,multimem=1"));
        }) ==
        "f.py:7: multicast: a multicast address reaches the 2 ranks of an LSA team, not all 4 of "
        "the world, on `cpu:world=4,lsa=2,multimem=1,gin=1`; write `.multicast(team=tw.lsa)`, and "
        "add up over the teams");
}

}  // namespace tilewire

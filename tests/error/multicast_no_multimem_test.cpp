#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a multicast address where there is no multimem") {
  Program program = parse_program(R"(program @p from "f.py" world 2 lsa 2 {
  window %w: f32[64]
} body {
  %a = multicast(%w) {team = "world"} @ 7:5
})");
  CHECK(message_of<UserError>(
            [&] { choose_multimem(std::move(program), Target::parse("sm_90a:world=2")); }) ==
        "f.py:7: multicast: there is no multimem on `sm_90a:world=2,lsa=2,multimem=0,gin=0`; ask "
        "`if tw.target.multimem:`, or leave .multicast() out: tw.all_reduce_load(x[…], "
        "order=\"any\") and tw.reduce_store(x[…], tile) use it where it is");
}

}  // namespace tilewire

#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a program made for another world") {
  Program program = parse_program(R"(program @p from "f.py" world 2 lsa 2 {
} body {
})");
  CHECK(message_of<UserError>(
            [&] { specialise(std::move(program), Target::parse("cpu:world=4")); }) ==
        "program `p` was made for world=2,lsa=2 and can't be compiled for "
        "`cpu:world=4,lsa=4,multimem=0,gin=0`");
}

}  // namespace tilewire

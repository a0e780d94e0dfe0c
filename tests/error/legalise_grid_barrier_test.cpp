#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a barrier over all instances") {
  Program program = parse_program(R"(program @p from "f.py" world 2 lsa 2 {
} body {
  barrier() {order = "acq_rel", scope = "grid", team = "world"} @ 7:5
})");
  CHECK(
      message_of<UserError>(
          [&] { legalise_communication(std::move(program), Target::parse("cpu:world=2")); }) ==
      "f.py:7: barrier: scope=\"grid\" can't be carried on `cpu:world=2,lsa=2,multimem=0,gin=0`; "
      "supported is scope=\"instance\", which orders the instances with one program id on all "
      "ranks. A launch ends when all instances have: split the kernel where all of them must meet");
}

}  // namespace tilewire

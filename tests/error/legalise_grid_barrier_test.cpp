#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a barrier over all instances, where the network lies between ranks") {
  Program program = parse_program(R"(program @p from "f.py" world 4 lsa 2 {
} body {
  barrier() {order = "acq_rel", scope = "grid", team = "world"} @ 7:5
})");
  CHECK(
      message_of<UserError>([&] {
        legalise_communication(std::move(program), Target::parse("cpu:world=2x2,gin=0"));
      }) ==
      "f.py:7: barrier: team=\"world\" has ranks that loads and stores don't reach on "
      "`cpu:world=4,lsa=2,multimem=0,gin=0` (teams of 2 in a world of 4), and the communicator has "
      "no network that kernels can use (GIN); supported are ranks that reach each other: "
      "team=\"lsa\", or "
      "all ranks in one LSA team (`world=4` alone)");
}

}  // namespace tilewire

#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a barrier in a task") {
  Program program = parse_program(R"(program @p from "f.py" world 2 lsa 2 {
} body {
  %in_task = in_task(): bool @ 4:5
  if %in_task {
    barrier() {order = "acq_rel", scope = "instance", team = "world"} @ 5:9
    yield
  } else {
    yield
  }
})");
  CHECK(message_of<UserError>([&] { split_tasks(std::move(program)); }) ==
        "f.py:5: in a task: `barrier`; a task copies views (`tw.put(view, view)`), waits "
        "(`tw.wait`), tells (`tw.set`, `tw.signal`) and prefetches: the rest goes behind it");
}

}  // namespace tilewire

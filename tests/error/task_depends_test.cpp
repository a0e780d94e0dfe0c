#include "compiler/frontend/builder.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {

TEST_CASE("error: a task depends on what only the rest of its instance knows") {
  Builder b("p", "f.py", Target::parse("cpu"));
  Value* x = b.tensor("x", DType::kI64, {{8, {}}});
  Value* y = b.tensor("y", DType::kI64, {{8, {}}});
  b.set_location(3, 5);
  Value* place = b.load(b.slice(x, {Index::at(std::int64_t{0})}));
  b.set_location(4, 5);
  b.task([&] { b.put(b.slice(y, {Index::ds(place, 2)}), b.slice(x, {Index::ds(place, 2)})); });
  CHECK(message_of<UserError>([&] { split_tasks(b.finish()); }) ==
        "f.py:3: a task depends on this `load`, which the rest of the instance does: a task knows "
        "parameters, program ids and what is computed of them; what it needs besides, it loads "
        "itself, inside of `with tw.task()`");
}

}  // namespace tilewire

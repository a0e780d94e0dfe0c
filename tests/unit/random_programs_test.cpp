#include <algorithm>
#include <string>

#include "compiler/passes/bounds.h"
#include "tests/catch.h"
#include "tests/unit/index_programs.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

struct Inputs {
  std::int64_t s;
  bool flag;
  std::int64_t extent;
};

constexpr Inputs kInputs[] = {{0, false, 0}, {1, true, 1},    {7, false, 16},
                              {-3, true, 5}, {-8, false, 33}, {64, true, 64}};

}  // namespace

TEST_CASE("random programs store the same after canonicalisation, and print as they read") {
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Program before = IndexProgramMaker(seed).make(true);
    const Program after = canonicalise(IndexProgramMaker(seed).make(true));
    verify(after);
    const std::string text = print(after);
    REQUIRE(print(parse_program(text)) == text);
    REQUIRE(print(canonicalise(parse_program(text))) == text);  // nothing was left to do
    for (const Inputs& inputs : kInputs) {
      CAPTURE(inputs.s, inputs.flag, inputs.extent);
      REQUIRE(IndexInterpreter(before, inputs.s, inputs.flag, inputs.extent).run() ==
              IndexInterpreter(after, inputs.s, inputs.flag, inputs.extent).run());
    }
  }
}

TEST_CASE("what is proven about random programs holds when they run") {
  int num_proven = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    const Program program = IndexProgramMaker(seed).make(false);
    Bounds bounds(program);
    for (const Inputs& inputs : kInputs) {
      IndexInterpreter interpreter(program, inputs.s, inputs.flag, inputs.extent);
      interpreter.observe = [&](const IndexInterpreter::Values& values) {
        for (const auto& [a, x] : values) {
          if (a->type.dtype != kIndex || x > (1 << 20) || x < -(1 << 20)) continue;
          const std::int64_t divisor = bounds.divisor(a);
          if (divisor == 0 ? x != 0 : x % divisor != 0) FAIL(a->name << " is " << x);
          for (const auto& [b, y] : values) {
            if (b->type.dtype != kIndex || y > (1 << 20) || y < -(1 << 20)) continue;
            // Only what is false now can be a wrong proof.
            if (x < y && bounds.at_least(a, b)) FAIL(a->name << " is " << x << ", below " << y);
            if (x >= y && a < b) num_proven += bounds.at_least(a, b) ? 1 : 0;
          }
        }
      };
      interpreter.run();
    }
  }
  CHECK(num_proven > 1000);  // the analysis does prove things here
}

}  // namespace tilewire

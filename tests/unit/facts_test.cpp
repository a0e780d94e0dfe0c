#include "compiler/passes/facts.h"

#include "compiler/ir/text.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

Program program_of(const std::string& declarations) {
  return parse_program("program @p from \"f.py\" world 2 lsa 2 {\n" + declarations +
                       "} body {\n}\n");
}

}  // namespace

TEST_CASE("ordinary arguments are contiguous, aligned, and in no window unless they are one") {
  const LocalFacts facts = ordinary_facts(
      program_of("tensor %x: f16[T, 64]\nwindow %w: f16[T, 64]\nscalar %s: f32\nflag %f: [8]\n"
                 "dimension %T\n"));
  CHECK(facts.contiguous == std::vector<bool>{true, true, false, true});
  CHECK(facts.alignment == std::vector<int>{16, 16, 1, 16});
  CHECK(facts.local_only == std::vector<bool>{true, false, false, false});
  CHECK(facts.mappable == std::vector<bool>{true, true, false, false});
}

TEST_CASE("static extents say whether a tensor map can describe an ordinary argument") {
  const LocalFacts facts =
      ordinary_facts(program_of("tensor %a: f16[T, 61]\ntensor %b: f16[61, T]\ntensor %c: f16[61]\n"
                                "tensor %d: u8[T, 3, T]\nwindow %e: f16[T, 64] {rotate = 2}\n"
                                "tensor %f: f16[1, 61]\ndimension %T\n"));
  CHECK(facts.mappable == std::vector<bool>{false, true, true, true, true, true});
}

}  // namespace tilewire

#include <string>

#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {
namespace {

std::string message(const std::string& statement) {
  Program program = parse_program(
      "program @p from \"f.py\" world 2 lsa 2 {\n  window %w: f32[64]\n  scalar %i: i64\n} body {\n"
      "  %v = constant() {dtype = f32, value = 1.0}\n"
      "  %a = multicast(%w) {team = \"world\"} @ 6:5\n"
      "  %b = slice(%a, %i) {index = \"at\"} @ 6:5\n  " +
      statement + " @ 7:5\n}");
  return message_of<UserError>(
      [&] { choose_multimem(std::move(program), Target::parse("sm_90a:world=2,multimem=1")); });
}

}  // namespace

TEST_CASE("error: all copies at once, loaded") {
  CHECK(message("%t = load(%b)") ==
        "f.py:7: load: .multicast() means all copies at once; reading it is a reduction: use "
        "tw.all_reduce_load(x.multicast()[…], op=\"add\"), or load one copy, x[…] or x.at(r)[…]");
}

TEST_CASE("error: all copies at once, and what was there before") {
  CHECK(message("%t = atomic(%b, %v) {kind = \"max\", order = \"acq_rel\", scope = \"system\"}") ==
        "f.py:7: atomic_max: .multicast() means all copies at once; what was there before differs "
        "from copy to copy: use tw.reduce_store(x.multicast()[…], tile), which gives nothing");
}

TEST_CASE("error: all copies at once, put") {
  CHECK(message("put_value(%b, %v)") ==
        "f.py:7: put_value: .multicast() means all copies at once; use tw.store to write to all");
}

TEST_CASE("error: all copies at once, in an op that takes no copies") {
  CHECK(message("prefetch(%b)") ==
        "f.py:7: prefetch: .multicast() means all copies at once; it is written by tw.store and "
        "tw.reduce_store, and read by tw.all_reduce_load");
}

}  // namespace tilewire

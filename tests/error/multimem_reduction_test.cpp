#include <string>

#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {
namespace {

std::string message(const std::string& dtype, const std::string& statement,
                    const std::string& architecture) {
  Program program =
      parse_program("program @p from \"f.py\" world 2 lsa 2 {\n  window %w: " + dtype +
                    "[64]\n  scalar %v: " + dtype +
                    "\n  scalar %i: i64\n} body {\n"
                    "  %a = multicast(%w) {team = \"world\"} @ 6:5\n"
                    "  %b = slice(%a, %i) {index = \"at\"} @ 6:5\n  " +
                    statement + " @ 7:5\n}");
  const Target target = Target::parse(architecture + ":world=2,multimem=1");
  return message_of<UserError>([&] { choose_multimem(std::move(program), target); });
}

std::string load(const std::string& operation) {
  return "%t = all_reduce_load(%b) {multicast = true, operation = \"" + operation +
         "\", order = \"any\", team = \"world\"}";
}

}  // namespace

TEST_CASE("error: a reduction that multimem hasn't got") {
  CHECK(message("f32", load("max"), "sm_90a") ==
        "f.py:7: all_reduce_load: multimem has no max of f32 on sm_90a; it has add of f32, f64, "
        "f16, bf16, i32, u32, i64, u64; min, max of f16, bf16, i32, u32, i64, u64; and, or, xor of "
        "i32, u32, i64, u64. Without .multicast(), copies are loaded one by one");
  CHECK(
      message("bool", load("or"), "sm_90a")
          .starts_with(
              "f.py:7: all_reduce_load: multimem has no or of bool on sm_90a; it has add of f32"));
}

TEST_CASE("error: a reduction that only other architectures have") {
  CHECK(
      message("e4m3", load("add"), "sm_90a")
          .starts_with(
              "f.py:7: all_reduce_load: multimem has no add of e4m3 on sm_90a; it has add of f32"));
  CHECK(message("e4m3", load("add"), "sm_100")
            .starts_with("f.py:7: all_reduce_load: multimem has no add of e4m3 on sm_100; it has"));
}

TEST_CASE("error: a reduction into all copies that multimem hasn't got") {
  CHECK(message("f64",
                "reduce_store(%b, %v) {multicast = true, operation = \"min\", order = "
                "\"any\", team = \"world\"}",
                "sm_100a") ==
        "f.py:7: reduce_store: multimem has no min of f64 on sm_100a; it has add of f32, f64, f16, "
        "bf16, i32, u32, i64, u64; min, max of f16, bf16, i32, u32, i64, u64. Without "
        ".multicast(), copies are changed one by one");
}

}  // namespace tilewire

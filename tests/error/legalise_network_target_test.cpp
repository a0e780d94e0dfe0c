#include <string>

#include "compiler/ir/text.h"
#include "compiler/passes/passes.h"
#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/error/message.h"

namespace tilewire {
namespace {

std::string refusal(const std::string& statements, const char* target = "cpu:world=2x2") {
  Program program = parse_program(R"(program @p from "f.py" world 4 lsa 2 {
  window %w: f32[64]
  window %turning: f32[64] {rotate = 3}
  tensor %x: f32[64]
  semaphore %s: [4]
  scalar %r: i64
} body {
)" + statements + "}");
  return message_of<UserError>(
      [&] { legalise_communication(std::move(program), Target::parse(target)); });
}

constexpr const char* kAt = "%a = at(%w, %r) {team = \"\"} @ 7:5\n";

}  // namespace

TEST_CASE("error: a put, a get or a signal to ranks out of reach without a network") {
  const std::string rest =
      ": this rank may be out of reach of loads and stores on `cpu:world=4,lsa=2,multimem=0,gin=0` "
      "(teams of 2 in a world of 4), and the communicator has no network that kernels can use "
      "(GIN); write `.at(r, team=tw.lsa)`, or put it under `if tw.is_lsa(r):`";
  CHECK(refusal(kAt + std::string("put(%a, %w) @ 8:5\n"), "cpu:world=2x2,gin=0") ==
        "f.py:8: put" + rest);
  CHECK(refusal(kAt + std::string("get(%w, %a) @ 8:5\n"), "cpu:world=2x2,gin=0") ==
        "f.py:8: get" + rest);
  CHECK(refusal("%a = at(%s, %r) {team = \"\"} @ 7:5\n%i = slice(%a, %r) {index = \"at\"} @ 7:9\n"
                "%n = constant() {dtype = u32, value = 1} @ 8:5\nsignal(%i, %n) @ 8:5\n",
                "cpu:world=2x2,gin=0") == "f.py:8: signal" + rest);
}

TEST_CASE("error: a message without a network") {
  Program program = parse_program(R"(program @p from "f.py" world 4 lsa 2 {
  channel %c: [4] {carrying = "tagged", depth = 1, message = "f32"}
  scalar %r: i64
} body {
  %s = slice(%c, %r) {index = "at"} @ 7:5
  %t = recv(%s) {message = "f32"} @ 7:5
})");
  CHECK(message_of<UserError>([&] {
          legalise_communication(std::move(program), Target::parse("cpu:world=2x2,gin=0"));
        }) ==
        "f.py:7: recv: loads and stores reach 2 ranks of 4 on "
        "`cpu:world=4,lsa=2,multimem=0,gin=0`, and the communicator has no network that kernels "
        "can use (GIN); supported are ranks that reach each other (`world=4` alone)");
}

TEST_CASE("error: a tensor as the source of a put over the network, or where a get goes") {
  const std::string where =
      " of this rank's own, and the other rank may be out of reach of loads and stores on "
      "`cpu:world=4,lsa=2,multimem=0,gin=1` (teams of 2 in a world of 4); the network ";
  CHECK(refusal(kAt + std::string("put(%a, %x) @ 8:5\n")) ==
        "f.py:8: put: `x` is no window" + where +
            "reads windows alone: put from one, or load the tile and put that");
  CHECK(refusal(kAt + std::string("get(%x, %a) @ 8:5\n")) ==
        "f.py:8: get: `x` is no window" + where + "writes to windows alone: get into one");
  CHECK(refusal(kAt + std::string("%b = at(%w, %r) {team = \"lsa\"} @ 8:9\nput(%a, %b) @ 8:5\n")) ==
        "f.py:8: put: `w` is no window" + where +
            "reads windows alone: put from one, or load the tile and put that");
}

TEST_CASE("error: a rotating window as the destination over the network") {
  CHECK(refusal("%a = at(%turning, %r) {team = \"rail\"} @ 7:5\nput(%a, %w) @ 8:5\n") ==
        "f.py:8: put: `turning` rotates, and the rank may be out of reach of loads and stores on "
        "`cpu:world=4,lsa=2,multimem=0,gin=1` (teams of 2 in a world of 4): the network reaches "
        "plain windows alone; leave rotate= out, and meet at a barrier before it is filled again");
}

}  // namespace tilewire

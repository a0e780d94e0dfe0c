#include <string>

#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

constexpr const char* kDeclarations =
    "flag %f: [4]\nwindow %w: f32[64] {rotate = 3}\ntensor %x: f32[64]\nscalar %r: i64\n"
    "scalar %c: bool\nscalar %v: f32";

/// The ops that the pass put in, and `return`, `if` and `for` around them, in program order.
std::string inserted(const std::string& statements, int world_size = 2) {
  const Target target = Target::parse("cpu:world=" + std::to_string(world_size));
  const std::string text =
      body_of(insert_launch_states(program_of(kDeclarations,
                                              "%zero = constant() {dtype = i64, value = 0}\n"
                                              "%one = constant() {dtype = i64, value = 1}\n" +
                                                  statements,
                                              world_size),
                                   target));
  std::string result;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    line.erase(0, line.find_first_not_of(' '));
    for (const char* word :
         {"announce", "await_done", "leave", "return", "if", "for", "}", "set"}) {
      if (line.starts_with(word)) result += line.substr(0, line.find_first_of(" (%")) + " ";
    }
    if (line.starts_with("store")) result += "store ";
  }
  return result;
}

std::string loop(const std::string& body) {
  return "for %i = range(%zero, %r, %one) {\n" + body + "yield\n}\n";
}

std::string branch(const std::string& then_body) {
  return "if %c {\n" + then_body + "yield\n} else {\nyield\n}\n";
}

const std::string kSetAtPeer =
    "%fa = at(%f, %r) {team = \"lsa\"}\n%fs = slice(%fa, %zero) {index = \"at\"}\nset(%fs)\n";
const std::string kSetOwn = "%fo = slice(%f, %zero) {index = \"at\"}\nset(%fo)\n";
const std::string kStoreOwn = "%wo = slice(%w, %zero) {index = \"at\"}\nstore(%wo, %v)\n";
const std::string kBarrier = "lsa_barrier() {order = \"acq_rel\", site = 0}\n";

}  // namespace

TEST_CASE("a launch that does nothing with its objects is counted and left") {
  CHECK(inserted("") == "announce announce await_done leave leave ");
  CHECK(inserted("", 1) == "leave leave ");
}

TEST_CASE("the first write to a peer waits until its earlier launches are over") {
  CHECK(inserted(kSetAtPeer) == "announce announce await_done set leave leave ");
  CHECK(inserted(kSetAtPeer + kSetAtPeer.substr(kSetAtPeer.find("set("))) ==
        "announce announce await_done set set leave leave ");
  // Own flags are nobody else's; the words to be cleared may still be a peer's.
  CHECK(inserted(kSetOwn) == "announce announce set await_done leave leave ");
  // Peers may still be reading this rank's copy.
  CHECK(inserted(kStoreOwn) == "announce await_done store announce await_done leave leave ");
  CHECK(inserted(kSetAtPeer, 1) == "set leave leave ");
}

TEST_CASE("behind a barrier of all ranks nothing is waited for") {
  CHECK(inserted(kBarrier + kSetAtPeer + kStoreOwn) == "announce announce set store leave leave ");
  CHECK(inserted(kSetAtPeer + kBarrier) == "announce announce await_done set leave leave ");
  CHECK(inserted("lsa_barrier() {order = \"relaxed\", site = 0}\n" + kSetAtPeer) ==
        "announce announce await_done set leave leave ");
}

TEST_CASE("a loop's writes wait in front of it, a branch's inside") {
  CHECK(inserted(loop(kSetAtPeer)) == "announce announce await_done for set } leave leave ");
  CHECK(inserted(branch(kSetAtPeer)) ==
        "announce announce if await_done set } } await_done leave leave ");
  CHECK(inserted(branch(kBarrier) + kSetAtPeer) ==
        "announce announce if } } await_done set leave leave ");
  CHECK(inserted(loop(branch(kSetAtPeer))) ==
        "announce announce await_done for if set } } } leave leave ");
}

TEST_CASE("every way out of the kernel leaves the launch") {
  CHECK(inserted(branch("return\n") + kSetAtPeer) ==
        "announce announce if await_done leave leave return } } await_done set leave leave ");
  CHECK(inserted(loop(branch("return\n"))) ==
        "announce announce for if await_done leave leave return } } } await_done leave leave ");
  // A branch that returns says nothing about what comes behind it.
  CHECK(inserted("if %c {\n" + kBarrier + "yield\n} else {\nreturn\nyield\n}\n" + kSetAtPeer) ==
        "announce announce if } await_done leave leave return } set leave leave ");
  CHECK(inserted(kSetAtPeer + "return\n") ==
        "announce announce await_done set leave leave return ");
}

TEST_CASE("programs without such objects stay as they are") {
  const Program program = program_of("window %w: f32[64]", "return\n", 2);
  CHECK(body_of(insert_launch_states(program_of("window %w: f32[64]", "return\n", 2),
                                     Target::parse("cpu:world=2"))) == body_of(program));
}

}  // namespace tilewire

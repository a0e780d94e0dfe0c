#include <map>
#include <sstream>
#include <string>

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// The program's ops after the pass, a letter each: `F` is a fence, `l` and `s` load and store all
/// copies, `r` and `w` read and write this rank's, `y` and `z` write tensors, `B` is a barrier, `S`
/// and `W` signal and wait, brackets stand around loops and branches.
std::string fenced(const std::string& statements) {
  const std::string text = body_of(fence_aliases(program_of(
      "window %w: f32[64] {local_only = false}\ntensor %y: f32[64] {local_only = true}\n"
      "tensor %z: f32[64] {local_only = false}\nwindow %h: bf16[64] {local_only = false}\n"
      "semaphore %m: [8]\nscalar %c: bool\nscalar %n: i64\nscalar %b: bf16",
      "%zero = constant() {dtype = i64, value = 0}\n"
      "%one = constant() {dtype = i64, value = 1}\n"
      "%times = constant() {dtype = u32, value = 1}\n"
      "%v = constant() {dtype = f32, value = 1.0}\n"
      "%all = address(%w, %zero) {multicast = true}\n%w_at = address(%w, %zero)\n"
      "%halves = address(%h, %zero) {multicast = true}\n"
      "%y_at = address(%y, %zero)\n%z_at = address(%z, %zero)\n"
      "%m_at = address(%m, %zero)\n" +
          statements,
      2)));
  const std::map<std::string, std::string> letters = {{"fence_aliases(", "F"},
                                                      {"multimem_load(", "l"},
                                                      {"multimem_store(%all", "s"},
                                                      {"multimem_store(%halves", "h"},
                                                      {"tile_load(%w", "r"},
                                                      {"tile_store(%w", "w"},
                                                      {"tile_store(%y", "y"},
                                                      {"tile_store(%z", "z"},
                                                      {"lsa_barrier(", "B"},
                                                      {"semaphore_signal(", "S"},
                                                      {"semaphore_wait(", "W"},
                                                      {"for ", "["},
                                                      {"if ", "["}};
  std::string result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    for (const auto& [word, letter] : letters) {
      const std::size_t at = line.find(word);
      if (at != std::string::npos && (at == 0 || line[at - 1] == ' ')) result += letter;
    }
    const std::size_t first = line.find_first_not_of(' ');
    const bool is_end = first != std::string::npos && line[first] == '}';
    if (is_end && line.find("else") == std::string::npos) {
      result += "]";
    }
  }
  return result;
}

const std::string kAccess = "{masked = [], shape = [], strides = [], vector = 1}\n";
const std::string kLoad =
    "%a = multimem_load(%all) {masked = [], operation = \"add\", shape = [], strides = [], vector "
    "= 1}\n";
const std::string kStore = "multimem_store(%all, %v) " + kAccess;
const std::string kHalf = "multimem_store(%halves, %b) " + kAccess;
const std::string kRead = "%r = tile_load(%w_at) " + kAccess;

std::string write(const std::string& to) { return "tile_store(%" + to + "_at, %v) " + kAccess; }

std::string barrier(int site, const std::string& order = "acq_rel") {
  return "lsa_barrier() {order = \"" + order + "\", site = " + std::to_string(site) + "}\n";
}

std::string loop(const std::string& body) {
  return "for %i = range(%zero, %n, %one) {\n" + body + "yield\n}\n";
}

std::string branch(const std::string& then_body) {
  return "if %c {\n" + then_body + "yield\n} else {\nyield\n}\n";
}

const std::string kSignal =
    "semaphore_signal(%m_at, %times) {order = \"release\", scope = \"system\", shape = [], strides "
    "= [], told = \"system\"}\n";
const std::string kWait =
    "semaphore_wait(%m_at, %times) {scope = \"system\", shape = [], site = 0, strides = []}\n";

}  // namespace

TEST_CASE("kernels that use multicast addresses alone have no fences of aliases") {
  CHECK(fenced(barrier(0) + kLoad + kStore + barrier(1)) == "BlsB");
  CHECK(fenced(barrier(0) + loop(kLoad + kStore) + barrier(1)) == "B[ls]B");
  CHECK(fenced(barrier(0) + kLoad + write("y") + barrier(1)) == "BlyB");
  CHECK(fenced(kRead + barrier(0) + kLoad + barrier(1)) == "rBlB");
}

TEST_CASE("a fence stands between plain writes and multicast accesses behind them") {
  CHECK(fenced(write("w") + kLoad) == "wFl");
  CHECK(fenced(write("w") + kStore) == "wFs");
  CHECK(fenced(write("z") + kLoad) == "zFl");
  CHECK(fenced(write("y") + kLoad) == "yl");
  CHECK(fenced(write("w") + barrier(0) + kLoad) == "wBFl");
  CHECK(fenced(write("w") + kStore + kLoad) == "wFsl");
  CHECK(fenced(branch(write("w")) + kLoad) == "[w]Fl");
  CHECK(fenced(branch(write("w")) + barrier(0) + kStore) == "[w]BFs");
}

TEST_CASE("a fence stands between multicast writes and plain accesses behind them") {
  CHECK(fenced(kStore + kRead) == "sFr");
  CHECK(fenced(kStore + write("w")) == "sFw");
  CHECK(fenced(kLoad + write("w")) == "lw");
  CHECK(fenced(kStore + barrier(0) + kRead) == "sFBr");
  CHECK(fenced(kStore + barrier(0) + write("y")) == "sFBy");  // of others, it may be in a window
  CHECK(fenced(kStore + barrier(0) + barrier(1)) == "sBB");
}

TEST_CASE("a fence stands in front of loops where it can") {
  CHECK(fenced(write("w") + loop(kLoad)) == "wF[l]");
  CHECK(fenced(write("w") + barrier(0) + loop(kLoad + kStore)) == "wBF[ls]");
  CHECK(fenced(kStore + loop(kRead)) == "sF[r]");
  CHECK(fenced(loop(kLoad + write("w"))) == "[Flw]");
  CHECK(fenced(loop(kStore + kRead)) == "[sFr]");
}

TEST_CASE("instances that meet in loops or branches may have come another way") {
  CHECK(fenced(branch(barrier(0) + kLoad) + write("w")) == "[BFl]w");
  CHECK(fenced(kRead + branch(kStore + barrier(0))) == "r[sFB]");
}

TEST_CASE("who signals and waits may be another kernel") {
  CHECK(fenced(kWait + kLoad) == "WFl");
  CHECK(fenced(kStore + kSignal) == "sFS");
  CHECK(fenced(kLoad + kSignal) == "lS");
}

TEST_CASE("elements that go to each copy by themselves are plain writes") {
  CHECK(fenced(kHalf + barrier(0)) == "hB");
  CHECK(fenced(kHalf + kLoad) == "hFl");
  CHECK(fenced(kStore + kHalf) == "sFh");
}

}  // namespace tilewire

#include <string>

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// The orders of all barriers after the pass, in program order.
std::string orders(const std::string& statements) {
  const std::string text = body_of(elide_releases(
      program_of("window %w: f32[64] {local_only = false}\ntensor %y: f32[64] {local_only = true}\n"
                 "tensor %z: f32[64] {local_only = false}\nscalar %c: bool\nscalar %n: i64",
                 "%zero = constant() {dtype = i64, value = 0}\n"
                 "%one = constant() {dtype = i64, value = 1}\n"
                 "%v = constant() {dtype = f32, value = 1.0}\n"
                 "%w_at = address(%w, %zero)\n%y_at = address(%y, %zero)\n"
                 "%z_at = address(%z, %zero)\n" +
                     statements,
                 2)));
  std::string result;
  for (std::size_t at = text.find("order = \""); at != std::string::npos;
       at = text.find("order = \"", at + 1)) {
    result += text.substr(at + 9, text.find('"', at + 9) - at - 9) + " ";
  }
  return result;
}

std::string barrier(int site, const std::string& order = "acq_rel") {
  return "lsa_barrier() {order = \"" + order + "\", site = " + std::to_string(site) + "}\n";
}

std::string store(const std::string& to) {
  return "tile_store(%" + to + "_at, %v) {masked = [], shape = [], strides = [], vector = 1}\n";
}

std::string load(const std::string& from) {
  return "%t_" + from + " = tile_load(%" + from +
         "_at) {masked = [], shape = [], strides = [], vector = 1}\n";
}

std::string loop(const std::string& body) {
  return "for %i = range(%zero, %n, %one) {\n" + body + "yield\n}\n";
}

std::string branch(const std::string& then_body) {
  return "if %c {\n" + then_body + "yield\n} else {\nyield\n}\n";
}

std::string grid_barrier(int site, const std::string& team, const std::string& order = "acq_rel") {
  return "grid_barrier() {order = \"" + order + "\", site = " + std::to_string(site) +
         ", team = \"" + team + "\"}\n";
}

}  // namespace

TEST_CASE("a barrier of all instances releases what any of them could see") {
  CHECK(orders(grid_barrier(0, "local") + grid_barrier(1, "lsa")) == "acquire acq_rel ");
  CHECK(orders(store("y") + grid_barrier(0, "local")) == "acq_rel ");
  CHECK(orders(store("y") + grid_barrier(0, "lsa")) == "acq_rel ");
  CHECK(orders(store("w") + grid_barrier(0, "lsa") + barrier(1)) == "acq_rel acquire ");
  CHECK(orders(store("w") + grid_barrier(0, "lsa") + grid_barrier(1, "local")) ==
        "acq_rel acquire ");
  CHECK(orders(load("w") + grid_barrier(0, "lsa")) == "acquire ");
}

TEST_CASE("what was acquired from some is passed on to others") {
  CHECK(orders(grid_barrier(0, "local") + barrier(1)) == "acquire acq_rel ");
  CHECK(orders(grid_barrier(0, "local", "relaxed") + barrier(1)) == "relaxed acquire ");
  CHECK(orders(barrier(0) + grid_barrier(1, "local")) == "acquire acq_rel ");
  CHECK(orders(barrier(0, "relaxed") + grid_barrier(1, "local")) == "relaxed acquire ");
  CHECK(orders(grid_barrier(0, "local") + grid_barrier(1, "local")) == "acquire acquire ");
}

TEST_CASE("a barrier releases only what a peer could see") {
  CHECK(orders(barrier(0)) == "acquire ");
  CHECK(orders(load("w") + barrier(0)) == "acquire ");
  CHECK(orders(store("y") + barrier(0)) == "acquire ");
  CHECK(orders(store("z") + barrier(0)) == "acq_rel ");
  CHECK(orders(store("w") + barrier(0)) == "acq_rel ");
  CHECK(orders(store("w") + barrier(0, "release") + barrier(1, "release")) == "release relaxed ");
  CHECK(orders(store("w") + barrier(0, "acquire") + barrier(1)) == "acquire acq_rel ");
}

TEST_CASE("a release is needed where one way to the barrier stores") {
  CHECK(orders(branch(store("w")) + barrier(0)) == "acq_rel ");
  CHECK(orders(branch(store("y")) + barrier(0)) == "acquire ");
  CHECK(orders(branch(store("w") + barrier(0)) + barrier(1)) == "acq_rel acquire ");
  CHECK(orders(loop(store("w")) + barrier(0)) == "acq_rel ");
  CHECK(orders(loop(barrier(0) + store("w")) + barrier(1)) == "acq_rel acq_rel ");
  CHECK(orders(loop(store("w") + barrier(0)) + barrier(1)) == "acq_rel acquire ");
  CHECK(orders(loop(barrier(0) + load("w")) + barrier(1)) == "acquire acquire ");
}

}  // namespace tilewire

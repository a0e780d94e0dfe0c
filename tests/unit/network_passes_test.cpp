// What the passes behind legalise_communication make of the ops over the network.

#include <string>

#include "compiler/ops/network.h"
#include "compiler/ops/op.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

constexpr const char* kDeclarations =
    "window %x: bf16[T, 64]\nwindow %r: u8[N, 32]\nwindow %turning: f32[64] {rotate = 3}\n"
    "semaphore %s: [4, 8]\nscalar %p: i64\nscalar %i: i64\ndimension %T\ndimension %N";

std::string lowered(const std::string& statements) {
  return body_of(
      canonicalise(lower_views(canonicalise(program_of(kDeclarations, statements, 4, 2)))));
}

/// The orders of barriers and signals after `elide_releases`.
std::string orders(const std::string& statements) {
  const std::string text = body_of(elide_releases(
      program_of("window %w: f32[64]\nsemaphore %s: [4]\nscalar %v: f32\nscalar %p: i64",
                 "%zero = constant() {dtype = i64, value = 0}\n"
                 "%one = constant() {dtype = u32, value = 1}\n%w_at = address(%w, %zero)\n" +
                     statements,
                 4, 2)));
  std::string result;
  for (std::size_t at = text.find("order = \""); at != std::string::npos;
       at = text.find("order = \"", at + 1)) {
    result += text.substr(at + 9, text.find('"', at + 9) - at - 9) + " ";
  }
  return result;
}

constexpr const char* kStore =
    "tile_store(%w_at, %v) {masked = [], shape = [], strides = [], vector = 1}\n";
constexpr const char* kPut =
    "network_store(%w, %p, %zero, %v) {masked = [], shape = [], strides = [], vector = 1}\n";
constexpr const char* kSignal = "network_signal(%s, %p, %zero, %one) {order = \"release\"}\n";

std::string network_barrier(const std::string& team) {
  return "network_barrier() {order = \"acq_rel\", site = 0, team = \"" + team + "\"}\n";
}

std::string lsa_barrier(bool is_of_world) {
  return std::string("lsa_barrier() {order = \"acq_rel\", site = 1") +
         (is_of_world ? ", world = true" : "") + "}\n";
}

}  // namespace

TEST_CASE("a put of a tile over the network is a store at a place of the window in bytes") {
  CHECK(lowered(R"(%a = at(%x, %p) {team = "network"}
%row = slice(%a, %i) {index = "at, all"}
%v = constant() {dtype = bf16, value = 1.0}
%t = full(%v) {shape = [64]}
put(%row, %t)
)") == R"(
%c0 = constant() {dtype = i64, value = 0}: i64
%ge = ge(%i, %c0): bool
%lt = lt(%i, %T): bool
%v = constant() {dtype = bf16, value = 1.0}: bf16
%t = full(%v) {shape = [64]}: tile<bf16[64]>
%c64 = constant() {dtype = i64, value = 64}: i64
%mul = mul(%i, %c64): i64
%c2 = constant() {dtype = i64, value = 2}: i64
%mul_1 = mul(%mul, %c2): i64
%and = and(%ge, %lt): bool
network_store(%x, %p, %mul_1, %t, %and) {masked = [0], predicated = true, shape = [64], strides = [1], vector = 8}
)");
}

TEST_CASE("a field of a record lies behind its record's start, whatever its dtype") {
  CHECK(lowered(R"(%a = at(%r, %p) {team = "network"}
%f = field(%a) {dtype = f32, offset = 16, shape = []}
%one = constant() {dtype = i64, value = 1}
%e = slice(%f, %one) {index = "at"}
%v = constant() {dtype = f32, value = 1.0}
put_value(%e, %v)
)") == R"(
%one = constant() {dtype = i64, value = 1}: i64
%lt = lt(%one, %N): bool
%v = constant() {dtype = f32, value = 1.0}: f32
%c48 = constant() {dtype = i64, value = 48}: i64
network_store(%r, %p, %c48, %v, %lt) {masked = [], predicated = true, shape = [], strides = [], vector = 1}
)");
}

TEST_CASE("puts and gets of views take windows, places in bytes and the extents that both have") {
  const std::string put = lowered(R"(%a = at(%x, %p) {team = "network"}
put(%a, %x)
)");
  CHECK(put.find("network_put(%x, %p, %c0, %x, %c0, %T, %c64, %c64, %c64, %c1, %c1) {element = 2, "
                 "known = 16}") != std::string::npos);
  const std::string get = lowered(R"(%a = at(%x, %p) {team = "network"}
get(%x, %a)
)");
  CHECK(get.find("network_get(%x, %c0, %x, %p, %c0, %T, %c64, %c64, %c64, %c1, %c1) {element = 2, "
                 "known = 16}") != std::string::npos);
}

TEST_CASE("a signal over the network goes to a semaphore by number, if there is one") {
  CHECK(lowered(R"(%a = at(%s, %p) {team = "network"}
%three = constant() {dtype = i64, value = 3}
%e = slice(%a, %three, %i) {index = "at, at"}
%n = constant() {dtype = u32, value = 1}
signal(%e, %n)
)") == R"(
%c0 = constant() {dtype = i64, value = 0}: i64
%ge = ge(%i, %c0): bool
%c8 = constant() {dtype = i64, value = 8}: i64
%lt = lt(%i, %c8): bool
%n = constant() {dtype = u32, value = 1}: u32
%c24 = constant() {dtype = i64, value = 24}: i64
%add = add(%i, %c24): i64
%and = and(%ge, %lt): bool
network_signal(%s, %p, %add, %n, %and) {order = "release", predicated = true}
)");
}

TEST_CASE("what the network needs: a lane, and memory for tiles until they are sent") {
  const auto resources = [](const std::string& statement) {
    const Program program =
        program_of("window %w: f32[64]\nscalar %p: i64",
                   "%v = constant() {dtype = f32, value = 1.0}\n%t = full(%v) {shape = [64]}\n"
                   "%zero = constant() {dtype = i64, value = 0}\n" +
                       statement,
                   4, 2);
    const Statement& last = *program.body.statements.back();
    return last.op->resources(last);
  };
  const Resources tile = resources(
      "network_store(%w, %p, %zero, %t) {masked = [0], shape = [64], strides = [1], vector = 4}");
  CHECK(tile.network);
  CHECK(tile.lane);
  CHECK_FALSE(tile.waits);
  CHECK(tile.staging_bytes == 256);
  const Resources one = resources(
      "network_store(%w, %p, %zero, %v) {masked = [], shape = [], strides = [], vector = 1}");
  CHECK(one.staging_bytes == 0);
  const Resources barrier =
      resources("network_grid_barrier() {order = \"acq_rel\", site = 0, team = \"rail\"}");
  CHECK((barrier.network && barrier.waits && barrier.two_sided && barrier.grid_barrier));
}

TEST_CASE("a barrier over the network releases stores and puts") {
  CHECK(orders(network_barrier("world")) == "acquire ");
  CHECK(orders(kStore + network_barrier("world")) == "acq_rel ");
  CHECK(orders(kPut + network_barrier("world")) == "acq_rel ");
  // The team-mates have not heard what came over the network, nor far ranks what team-mates said.
  CHECK(orders(network_barrier("world") + lsa_barrier(true)) == "acquire acq_rel ");
  CHECK(orders(network_barrier("world") + lsa_barrier(true) + network_barrier("world")) ==
        "acquire acq_rel acquire ");
  CHECK(orders(lsa_barrier(false) + network_barrier("world")) == "acquire acq_rel ");
  // Only its own team is covered by a barrier of the rail, and puts by no barrier of the LSA team.
  CHECK(orders(kPut + network_barrier("rail") + network_barrier("world")) == "acq_rel acq_rel ");
  CHECK(orders(kPut + lsa_barrier(false) + network_barrier("world")) == "acq_rel acq_rel ");
}

TEST_CASE("a signal over the network has a fence where something was stored since the last one") {
  const std::string signal = kSignal;
  CHECK(orders(signal) == "relaxed ");
  CHECK(orders(kStore + signal + signal) == "release relaxed ");
  CHECK(orders(kStore + signal + kPut + signal) == "release release ");
}

TEST_CASE("bulk copies are waited for before the network reads what they may be writing") {
  const auto drained = [](const std::string& statement) {
    const std::string text = body_of(drain_copies(program_of(
        "window %a: f32[64]\nwindow %b: f32[32]\nscalar %p: i64\nscalar %v: f32",
        "%zero = constant() {dtype = i64, value = 0}\n%one = constant() {dtype = i64, value = 1}\n"
        "%to = address(%a, %zero)\n%from = address(%b, %zero)\n"
        "view_copy(%to, %from, %one, %one, %one) {bulk = true, known = 4}\n" +
            statement,
        4, 2)));
    return text.find("drain_copies") != std::string::npos;
  };
  const std::string shape = ", %one, %one, %one) {element = 4, known = 4}";
  CHECK(drained("network_put(%b, %p, %zero, %a, %zero" + shape));
  CHECK_FALSE(drained("network_put(%a, %p, %zero, %b, %zero" + shape));
  CHECK(drained("network_get(%a, %zero, %b, %p, %zero" + shape));
  CHECK_FALSE(drained("network_get(%b, %zero, %a, %p, %zero" + shape));
  CHECK_FALSE(
      drained("network_store(%a, %p, %zero, %v) {masked = [], shape = [], strides = [], "
              "vector = 1}"));
}

}  // namespace tilewire

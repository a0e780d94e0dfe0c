#include <string>

#include "compiler/support/error.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

const std::string kDeclarations = R"(
  window %x: f32[T, 64]
  tensor %y: f32[U, 64]
  scalar %s: i64
  dimension %T
  dimension %U
)";
const std::string kBounds =
    "%c0 = constant() {dtype = i64, value = 0}\n%c1 = constant() {dtype = i64, value = 1}\n"
    "%cw = constant() {dtype = i64, value = 4}\n";

/// What stands behind the constants of `kBounds`.
std::string behind_bounds(const std::string& text) {
  const std::string last = "value = 4}: i64\n";
  return text.substr(text.find(last) + last.size());
}

Program specialised(const std::string& statements, const std::string& target) {
  const Target parsed = Target::parse(target);
  return specialise(program_of(kDeclarations, statements, parsed.world_size, parsed.lsa_size),
                    parsed);
}

std::string over_ranks(const std::string& iterate) {
  return kBounds + "%r = for %i = " + iterate +
         "(%c0, %cw, %c1) carry (%a = %s): i64 {\n%b = mul(%a, %i)\nyield %b\n}\n"
         "if_used(%r)\n";
}

/// The bound that a program's persistent loops put on useful grids.
std::vector<int> grid(const std::string& statements, const std::string& target) {
  std::vector<int> dimensions;
  for (const GridBound& bound : specialised(kBounds + statements, target).useful_grid) {
    CHECK(bound.number == 1);
    dimensions.push_back(bound.dimension);
  }
  return dimensions;
}

std::string persistent(const std::string& count) {
  return "for %row" + count + " = persistent(%c0, %" + count + ", %c1) {\nyield\n}\n";
}

}  // namespace

TEST_CASE("a persistent loop goes from the program id in steps of the grid") {
  CHECK(behind_bounds(body_of(specialised(kBounds + persistent("T"), "cpu:world=2"))) ==
        R"(%program_id = program_id() {axis = 0}: i64
%num_programs = num_programs() {axis = 0}: i64
for %rowT = range(%program_id, %T, %num_programs) {
  yield
}
)");
}

TEST_CASE("loops over ranks are unrolled up to eight") {
  const std::string text = over_ranks("ranks");
  const auto body = [&](const std::string& target) {
    std::string used = text;
    used.replace(used.find("if_used(%r)\n"), 12, "%out = add(%r, %r)\n");
    return body_of(specialised(used, target));
  };
  CHECK(count_of(body("cpu:world=1"), "mul(") == 1);
  CHECK(count_of(body("cpu:world=4"), "mul(") == 4);
  CHECK(count_of(body("cpu:world=8"), "mul(") == 8);
  CHECK(body("cpu:world=8").find("for") == std::string::npos);
  const std::string nine = body("cpu:world=9");
  CHECK(count_of(nine, "mul(") == 1);
  CHECK(nine.find("%c9 = constant() {dtype = i64, value = 9}: i64") != std::string::npos);
  CHECK(nine.find("= range(%c0_1, %c9, %c1_1) carry (%a = %s): i64 {") != std::string::npos);
  // In rank order, each on what the one before gave.
  CHECK(behind_bounds(body("cpu:world=2")) == R"(%c0_1 = constant() {dtype = i64, value = 0}: i64
%b = mul(%s, %c0_1): i64
%c1_1 = constant() {dtype = i64, value = 1}: i64
%b_1 = mul(%b, %c1_1): i64
%out = add(%b_1, %b_1): i64
)");
}

TEST_CASE("loops over peers skip this rank by arithmetic") {
  const auto body = [&](const std::string& target) {
    std::string used = over_ranks("peers");
    used.replace(used.find("if_used(%r)\n"), 12, "%out = add(%r, %r)\n");
    return body_of(specialised(used, target));
  };
  CHECK(count_of(body("cpu:world=1"), "mul(") == 0);
  CHECK(count_of(body("cpu:world=9"), "mul(") == 8);
  CHECK(count_of(body("cpu:world=9"), "rank()") == 1);
  CHECK(behind_bounds(body("cpu:world=2")) == R"(%rank = rank() {team = "world"}: i64
%c0_1 = constant() {dtype = i64, value = 0}: i64
%ge = ge(%c0_1, %rank): bool
%cast = cast(%ge) {dtype = i64}: i64
%i = add(%c0_1, %cast): i64
%b = mul(%s, %i): i64
%out = add(%b, %b): i64
)");
  const std::string ten = body("cpu:world=10");
  CHECK(count_of(ten, "mul(") == 1);
  CHECK(ten.find("%ge = ge(%i, %rank): bool\n  %cast = cast(%ge) {dtype = i64}: i64\n"
                 "  %i_1 = add(%i, %cast): i64\n  %b = mul(%a, %i_1): i64") != std::string::npos);
}

TEST_CASE("loops over the ranks of an LSA team") {
  const std::string loop = kBounds +
                           "%r = for %i = ranks(%c0, %c1, %c1) with {team = \"lsa\"} carry (%a = "
                           "%s): i64 {\n%b = mul(%a, %i)\nyield %b\n}\n%out = add(%r, %r)\n";
  CHECK(count_of(body_of(specialised(loop, "cpu:world=2x4")), "mul(") == 4);
}

TEST_CASE("ranks in teams of one are known") {
  const std::string ranks = "%a = rank() {team = \"world\"}\n%b = rank() {team = \"lsa\"}\n";
  CHECK(
      body_of(specialised(ranks, "cpu:world=1")) ==
      "\n%c0 = constant() {dtype = i64, value = 0}: i64\n%c0_1 = constant() {dtype = i64, value = "
      "0}: i64\n");
  CHECK(body_of(specialised(ranks, "cpu:world=2x1")) ==
        "\n%a = rank() {team = \"world\"}: i64\n%c0 = constant() {dtype = i64, value = 0}: i64\n");
  CHECK(count_of(body_of(specialised(ranks, "cpu:world=2")), "rank() {team = \"world\"}") == 2);
  CHECK(count_of(body_of(specialised(ranks, "cpu:world=2x2")), "rank() {team = \"lsa\"}") == 1);
}

TEST_CASE("useful grids are bounded by extents that all ranks share") {
  using List = std::vector<int>;
  CHECK(grid(persistent("T"), "cpu:world=2") == List{0});
  CHECK(grid(persistent("U"), "cpu:world=2") == List{});   // a tensor's may differ by rank
  CHECK(grid(persistent("U"), "cpu:world=1") == List{1});  // nobody to differ from
  CHECK(grid(persistent("U") + persistent("T"), "cpu:world=1") == List{0, 1});
  CHECK(grid(persistent("T") + persistent("U"), "cpu:world=2") == List{});
  CHECK(grid(persistent("T") + persistent("s"), "cpu:world=2") == List{});
  CHECK(grid(persistent("T") + "%id = program_id() {axis = 0}\n", "cpu:world=2") == List{});
  CHECK(grid("", "cpu:world=2") == List{});
}

TEST_CASE("a loop whose step may lead downwards counts its iterations") {
  const std::string text =
      body_of(specialised(kBounds + "for %k = range(%T, %c0, %s) {\nyield\n}\n", "cpu:world=1"));
  CHECK(behind_bounds(text) == R"(%sub = sub(%T, %c0): i64
%c0_1 = constant() {dtype = i64, value = 0}: i64
%floordiv = floordiv(%sub, %s): i64
%neg = neg(%floordiv): i64
%c1_1 = constant() {dtype = i64, value = 1}: i64
for %i = range(%c0_1, %neg, %c1_1) {
  %mul = mul(%i, %s): i64
  %k = add(%T, %mul): i64
  yield
}
)");
}

}  // namespace tilewire

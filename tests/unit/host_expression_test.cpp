#include "compiler/jit/host_expression.h"

#include <array>
#include <cstdint>
#include <limits>

#include "compiler/jit/artifact.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

using Kind = HostStep::Kind;

constexpr std::array<std::int64_t, 2> kExtents = {130, 64};

std::int64_t value_of(std::int64_t a, Kind kind, std::int64_t b) {
  return evaluate({{Kind::kNumber, a}, {Kind::kNumber, b}, {kind}}, {});
}

}  // namespace

TEST_CASE("host expressions count tiles") {
  // cdiv(M, 64) * cdiv(N, 64)
  HostExpression expression;
  for (const std::int64_t dimension : {0, 1}) {
    expression.insert(expression.end(), {{Kind::kDimension, dimension},
                                         {Kind::kNumber, 63},
                                         {Kind::kAdd},
                                         {Kind::kNumber, 64},
                                         {Kind::kFloorDivide}});
  }
  expression.push_back({Kind::kMultiply});
  CHECK(evaluate(expression, kExtents) == 3);
  CHECK(evaluate({}, kExtents) == 0);
}

TEST_CASE("host expressions compute as programs do") {
  CHECK(value_of(7, Kind::kSubtract, 9) == -2);
  CHECK(value_of(-7, Kind::kFloorDivide, 2) == -4);
  CHECK(value_of(7, Kind::kFloorDivide, -2) == -4);
  CHECK(value_of(-7, Kind::kModulo, 4) == 1);
  CHECK(value_of(7, Kind::kFloorDivide, 0) == 0);
  CHECK(value_of(7, Kind::kModulo, 0) == 0);
  CHECK(value_of(7, Kind::kMinimum, 3) == 3);
  CHECK(value_of(7, Kind::kMaximum, 3) == 7);
}

TEST_CASE("a damaged host expression is an error") {
  CHECK_THROWS_AS(evaluate({{Kind::kAdd}}, kExtents), InternalError);
  CHECK_THROWS_AS(evaluate({{Kind::kDimension, 2}}, kExtents), InternalError);
  CHECK_THROWS_AS(evaluate({{Kind::kNumber, 1}, {Kind::kNumber, 2}}, kExtents), InternalError);
}

TEST_CASE("what doesn't fit into 64 bits is told, and nothing traps") {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  CHECK_THROWS_AS(value_of(kLeast, Kind::kFloorDivide, -1), UserError);
  CHECK(value_of(7, Kind::kFloorDivide, -1) == -7);
  CHECK(value_of(kLeast, Kind::kModulo, -1) == 0);
  CHECK_THROWS_AS(value_of(kLarge, Kind::kMultiply, kLarge), UserError);
  CHECK_THROWS_AS(value_of(kMost, Kind::kAdd, 1), UserError);
  CHECK_THROWS_AS(value_of(kLeast, Kind::kSubtract, 1), UserError);
  LaunchRules rules;
  rules.arrivals = {{Kind::kNumber, kLarge}};
  CHECK_THROWS_AS(rules.num_words({}), UserError);
}

}  // namespace tilewire

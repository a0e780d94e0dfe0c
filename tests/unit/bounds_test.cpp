#include "compiler/passes/bounds.h"

#include <string>

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// Index values that tests ask about, by name.
class Values {
 public:
  explicit Values(const std::string& statements)
      : program_(program_of("tensor %x: f32[T]\nscalar %s: i64\nscalar %short: i32\nscalar %flag: "
                            "bool\ndimension %T",
                            constants() + statements, 4)),
        bounds_(program_) {
    collect(program_.body);
  }

  bool at_least(const std::string& a, const std::string& b, std::int64_t offset = 0) {
    return bounds_.at_least(values_.at(a), values_.at(b), offset);
  }
  std::int64_t divisor(const std::string& a) { return bounds_.divisor(values_.at(a)); }

 private:
  static std::string constants() {
    std::string text;
    for (const int value : {0, 1, 3, 7, 8, 16, 60, 63, 64, 1024}) {
      text += "%n" + std::to_string(value) +
              " = constant() {dtype = i64, value = " + std::to_string(value) + "}\n";
    }
    return text;
  }

  void collect(const Region& region) {
    for (Value* argument : region.arguments) values_[argument->name] = argument;
    for (const auto& statement : region.statements) {
      for (Value* result : statement->results) values_[result->name] = result;
      for (const Region& inner : statement->regions) collect(inner);
    }
  }

  Program program_;
  Bounds bounds_;
  std::map<std::string, Value*> values_;
};

}  // namespace

TEST_CASE("bounds of single values") {
  Values v(R"(%id = program_id() {axis = 0}
%count = num_programs() {axis = 0}
%rank = rank() {team = "world"}
%wide = cast(%short) {dtype = i64}
%bit = cast(%flag) {dtype = i64}
%rest = mod(%s, %n8)
%half = floordiv(%T, %n3)
%low = minimum(%s, %n7)
%high = maximum(%s, %n7)
%chosen = select(%flag, %n3, %rank)
%square = mul(%s, %s)
)");
  CHECK(v.at_least("id", "n0"));
  CHECK_FALSE(v.at_least("id", "n1"));
  CHECK(v.at_least("count", "n1"));
  CHECK(v.at_least("rank", "n0"));
  CHECK(v.at_least("n3", "rank"));
  CHECK_FALSE(v.at_least("n1", "rank"));
  CHECK(v.at_least("T", "n0"));
  CHECK_FALSE(v.at_least("T", "n1"));
  CHECK_FALSE(v.at_least("s", "n0"));
  CHECK_FALSE(v.at_least("n1024", "s"));
  CHECK_FALSE(v.at_least("wide", "n0"));
  CHECK(v.at_least("wide", "n0", -(std::int64_t{1} << 31)));
  CHECK(v.at_least("bit", "n0"));
  CHECK(v.at_least("n1", "bit"));
  CHECK(v.at_least("rest", "n0"));
  CHECK(v.at_least("n7", "rest"));
  CHECK_FALSE(v.at_least("n3", "rest"));
  CHECK(v.at_least("half", "n0"));
  CHECK(v.at_least("T", "half") == false);  // true, but beyond this analysis: 3 · half is compared
  CHECK(v.at_least("n7", "low"));
  CHECK(v.at_least("high", "n7"));
  CHECK_FALSE(v.at_least("low", "n0"));
  CHECK_FALSE(v.at_least("n1024", "high"));
  CHECK(v.at_least("chosen", "n0"));
  CHECK(v.at_least("n3", "chosen"));
  CHECK(v.at_least("square", "n0"));
}

TEST_CASE("sums cancel") {
  Values v(
      "%a = add(%s, %n8)\n%b = sub(%a, %n1)\n%c = mul(%s, %n3)\n%d = sub(%c, %s)\n"
      "%e = sub(%d, %s)\n");
  CHECK(v.at_least("a", "b"));
  CHECK(v.at_least("a", "s", 8));
  CHECK_FALSE(v.at_least("a", "s", 9));
  CHECK(v.at_least("b", "s", 7));
  CHECK(v.at_least("e", "s"));
  CHECK(v.at_least("s", "e"));
}

TEST_CASE("loop indices stay below their bound") {
  Values v(R"(%id = program_id() {axis = 0}
%count = num_programs() {axis = 0}
for %i = range(%id, %T, %count) {
  yield
}
for %j = range(%n0, %n1024, %n64) {
  yield
}
for %k = range(%n3, %n60, %n8) {
  yield
}
for %u = range(%n0, %T, %s) {
  yield
}
)");
  CHECK(v.at_least("i", "n0"));
  CHECK(v.at_least("T", "i", 1));
  CHECK_FALSE(v.at_least("T", "i", 2));
  CHECK(v.at_least("n1024", "j", 64));
  CHECK_FALSE(v.at_least("n1024", "j", 65));
  CHECK(v.at_least("n60", "k", 1));  // 3, 11, …, 59
  CHECK_FALSE(v.at_least("n60", "k", 2));
  CHECK_FALSE(v.at_least("u", "n0"));  // the step may be anything
  CHECK_FALSE(v.at_least("T", "u", 1));
}

TEST_CASE("whole blocks of an extent are inside, the last partial one isn't") {
  Values v(R"(%up = add(%T, %n63)
%whole = floordiv(%T, %n64)
%all = floordiv(%up, %n64)
for %i = range(%n0, %whole, %n1) {
  %start = mul(%i, %n64)
  yield
}
for %j = range(%n0, %all, %n1) {
  %begin = mul(%j, %n64)
  yield
}
)");
  CHECK(v.at_least("T", "start", 64));
  CHECK_FALSE(v.at_least("T", "begin", 64));
  CHECK(v.at_least("T", "begin", 1));
}

TEST_CASE("what divides a value") {
  Values v(R"(%a = mul(%s, %n16)
%b = add(%a, %n8)
%c = floordiv(%a, %n8)
%d = mod(%a, %n64)
%e = mul(%a, %T)
%f = minimum(%a, %n64)
%g = sub(%a, %a)
for %i = range(%n0, %T, %n8) {
  %h = mul(%i, %n3)
  yield
}
for %j = range(%n3, %T, %n8) {
  yield
}
)");
  CHECK(v.divisor("s") == 1);
  CHECK(v.divisor("a") == 16);
  CHECK(v.divisor("b") == 8);
  CHECK(v.divisor("c") == 2);
  CHECK(v.divisor("d") == 16);
  CHECK(v.divisor("e") == 16);
  CHECK(v.divisor("f") == 16);
  CHECK(v.divisor("g") == 0);
  CHECK(v.divisor("i") == 8);
  CHECK(v.divisor("h") == 24);
  CHECK(v.divisor("j") == 1);
}

TEST_CASE("a proof that would take long is given up") {
  std::string statements = "%v0 = maximum(%s, %T)\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "%v" + std::to_string(i - 1);
    const std::string high = "%h" + std::to_string(i);
    statements += high + " = maximum(" + before + ", %s)\n%w" + std::to_string(i) + " = minimum(" +
                  before + ", " + high + ")\n%v" + std::to_string(i) + " = mul(%w" +
                  std::to_string(i) + ", " + high + ")\n";
  }
  Values v(statements);
  CHECK_FALSE(v.at_least("v59", "n8"));
}

TEST_CASE("bounds of what a while loop counts") {
  Values v(R"(%after, %last, %free = while carry (%i = %n0, %k = %n60, %z = %s): i64, i64, i64 {
  %below = lt(%i, %T)
  %above = gt(%k, %n7)
  %both = and(%below, %above)
  yield %both
} do (%inside, %down, %any) {
  %next = add(%inside, %n8)
  %minus = neg(%n3)
  %c = constant() {dtype = i64, value = -4}
  %lower = add(%down, %c)
  %other = add(%any, %s)
  yield %next, %lower, %other
}
)");
  CHECK(v.at_least("inside", "n0"));
  CHECK(v.at_least("i", "n0"));
  CHECK(v.at_least("T", "inside", 1));
  CHECK_FALSE(v.at_least("T", "i"));
  CHECK_FALSE(v.at_least("T", "next"));
  CHECK(v.divisor("inside") == 8);
  CHECK(v.divisor("i") == 8);
  CHECK(v.at_least("down", "n8"));
  CHECK_FALSE(v.at_least("k", "n8"));
  CHECK(v.at_least("n60", "down"));
  CHECK(v.divisor("down") == 4);
  CHECK_FALSE(v.at_least("any", "n0"));
  CHECK(v.divisor("any") == 1);
}

}  // namespace tilewire

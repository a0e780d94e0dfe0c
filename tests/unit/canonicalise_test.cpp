#include <string>

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

const std::string kDeclarations = R"(
  tensor %out: f32[64]
  tensor %ints: i64[64]
  scalar %x: f32
  scalar %n: i64
  scalar %m: i64
  scalar %flag: bool
)";

std::string canonical(const std::string& statements) {
  return body_of(canonicalise(program_of(kDeclarations, statements)));
}

/// Statements that make `%r`, an f32 or i64 scalar, observable.
std::string kept(const std::string& statements, const std::string& tensor) {
  return statements + "%zero = constant() {dtype = i64, value = 0}\n%place = slice(%" + tensor +
         ", %zero) {index = \"at\"}\nstore(%place, %r)\n";
}

/// What `%r` is computed as: the text of the statement that the store's operand names, or its name.
std::string result_of(const std::string& statements, const std::string& tensor) {
  const std::string text = canonical(kept(statements, tensor));
  const std::size_t store = text.find("store(%place, ");
  const std::string name = text.substr(store + 14, text.find(')', store) - store - 14);
  const std::size_t definition = text.find("\n" + name + " = ");
  if (definition == std::string::npos) return name;
  const std::size_t start = definition + 1 + name.size() + 3;
  return text.substr(start, text.find('\n', start) - start);
}

std::string ints(const std::string& statements) { return result_of(statements, "ints"); }
std::string floats(const std::string& statements) { return result_of(statements, "out"); }

std::string integer(const std::string& name, int value) {
  return "%" + name + " = constant() {dtype = i64, value = " + std::to_string(value) + "}\n";
}
std::string real(const std::string& name, const std::string& value) {
  return "%" + name + " = constant() {dtype = f32, value = " + value + "}\n";
}

}  // namespace

TEST_CASE("constants fold through chains") {
  CHECK(ints(integer("a", 6) + integer("b", 7) +
             "%c = mul(%a, %b)\n%d = sub(%c, %a)\n%r = floordiv(%d, %b)\n") ==
        "constant() {dtype = i64, value = 5}: i64");
}

TEST_CASE("integer identities") {
  CHECK(ints(integer("a", 0) + "%r = add(%n, %a)\n") == "%n");
  CHECK(ints(integer("a", 0) + "%r = add(%a, %n)\n") == "%n");
  CHECK(ints(integer("a", 0) + "%r = sub(%n, %a)\n") == "%n");
  CHECK(ints(integer("a", 1) + "%r = mul(%n, %a)\n") == "%n");
  CHECK(ints(integer("a", 0) + "%r = mul(%a, %n)\n") == "constant() {dtype = i64, value = 0}: i64");
  CHECK(ints(integer("a", 1) + "%r = floordiv(%n, %a)\n") == "%n");
  CHECK(ints(integer("a", 1) + "%r = mod(%n, %a)\n") == "constant() {dtype = i64, value = 0}: i64");
  CHECK(ints("%r = sub(%n, %n)\n") == "constant() {dtype = i64, value = 0}: i64");
  CHECK(ints("%r = minimum(%n, %n)\n") == "%n");
  CHECK(ints("%r = maximum(%n, %n)\n") == "%n");
  CHECK(ints("%r = and(%n, %n)\n") == "%n");
  CHECK(ints("%r = xor(%n, %n)\n") == "constant() {dtype = i64, value = 0}: i64");
  CHECK(ints(integer("a", 0) + "%r = or(%n, %a)\n") == "%n");
  CHECK(ints("%a = neg(%n)\n%r = neg(%a)\n") == "%n");
  CHECK(ints("%a = not(%n)\n%r = not(%a)\n") == "%n");
  CHECK(ints(integer("a", 3) + integer("b", 4) + "%s = add(%n, %a)\n%r = add(%s, %b)\n") ==
        "add(%n, %c7): i64");
}

TEST_CASE("identities that would change what isn't folded") {
  CHECK(ints(integer("a", 0) + "%r = floordiv(%n, %a)\n") == "floordiv(%n, %a): i64");
  CHECK(ints("%r = floordiv(%n, %n)\n") == "floordiv(%n, %n): i64");             // 0 // 0 is 0
  CHECK(floats(real("a", "0.0") + "%r = add(%x, %a)\n") == "add(%x, %a): f32");  // -0.0 + 0.0
  CHECK(floats(real("a", "0.0") + "%r = mul(%x, %a)\n") == "mul(%x, %a): f32");  // NaN, -0.0
  CHECK(floats("%r = sub(%x, %x)\n") == "sub(%x, %x): f32");                     // NaN, inf
  CHECK(floats("%r = div(%x, %x)\n") == "div(%x, %x): f32");
  CHECK(floats(real("a", "-0.0") + "%r = sub(%x, %a)\n") == "sub(%x, %a): f32");
}

TEST_CASE("float identities that are exact") {
  CHECK(floats(real("a", "1.0") + "%r = mul(%x, %a)\n") == "%x");
  CHECK(floats(real("a", "1.0") + "%r = div(%x, %a)\n") == "%x");
  CHECK(floats(real("a", "0.0") + "%r = sub(%x, %a)\n") == "%x");
  CHECK(floats(real("a", "-0.0") + "%r = add(%x, %a)\n") == "%x");
  CHECK(floats("%a = neg(%x)\n%r = neg(%a)\n") == "%x");
  CHECK(floats("%r = cast(%x) {dtype = f32}\n") == "%x");
  CHECK(floats("%a = cast(%x) {dtype = f64}\n%r = cast(%a) {dtype = f32}\n") == "%x");
  CHECK(floats("%a = cast(%x) {dtype = bf16}\n%r = cast(%a) {dtype = f32}\n") ==
        "cast(%a) {dtype = f32}: f32");
}

TEST_CASE("comparisons and selects") {
  const std::string as_integer = "%r = cast(%c) {dtype = i64}\n";
  CHECK(ints("%c = le(%n, %n)\n" + as_integer) == "constant() {dtype = i64, value = 1}: i64");
  CHECK(ints("%c = ne(%n, %n)\n" + as_integer) == "constant() {dtype = i64, value = 0}: i64");
  CHECK(ints("%c = eq(%x, %x)\n" + as_integer) == "cast(%c) {dtype = i64}: i64");  // NaN
  CHECK(ints("%r = select(%flag, %n, %n)\n") == "%n");
  CHECK(ints("%t = constant() {dtype = bool, value = true}\n%r = select(%t, %n, %m)\n") == "%n");
  CHECK(ints("%t = constant() {dtype = bool, value = false}\n%r = select(%t, %n, %m)\n") == "%m");
  CHECK(ints("%t = constant() {dtype = bool, value = true}\n%c = and(%t, %flag)\n" + as_integer) ==
        "cast(%flag) {dtype = i64}: i64");
  CHECK(ints("%t = constant() {dtype = bool, value = true}\n%c = or(%flag, %t)\n" + as_integer) ==
        "constant() {dtype = i64, value = 1}: i64");
}

TEST_CASE("tiles that repeat one value become scalars") {
  const std::string load = "%t = load(%out)\n";
  CHECK(canonical(load + real("a", "2.0") +
                  "%f = full(%a) {shape = [64]}\n%s = mul(%t, %f)\n"
                  "store(%out, %s)\n") == R"(
%t = load(%out): tile<f32[64]>
%a = constant() {dtype = f32, value = 2.0}: f32
%s = mul(%t, %a): tile<f32[64]>
store(%out, %s)
)");
  CHECK(canonical(real("a", "2.0") + real("b", "3.0") +
                  "%f = full(%a) {shape = [64]}\n%g = full(%b) {shape = [64]}\n"
                  "%s = add(%f, %g)\nstore(%out, %s)\n") == R"(
%c = constant() {dtype = f32, value = 5.0}: f32
%s = full(%c) {shape = [64]}: tile<f32[64]>
store(%out, %s)
)");
  CHECK(canonical(load + real("a", "1.0") +
                  "%f = full(%a) {shape = [64]}\n%s = mul(%t, %f)\n"
                  "store(%out, %s)\n") == R"(
%t = load(%out): tile<f32[64]>
store(%out, %t)
)");
  CHECK(floats(integer("i", 3) + "%f = full(%x) {shape = [64]}\n%r = extract(%f, %i)\n") == "%x");
  CHECK(floats(integer("i", 64) + "%f = full(%x) {shape = [64]}\n%r = extract(%f, %i)\n") ==
        "extract(%f, %i): f32");
  CHECK(canonical("%f = full(%x) {shape = [1]}\n%s = broadcast(%f) {shape = [64]}\n"
                  "store(%out, %s)\n") == R"(
%s = full(%x) {shape = [64]}: tile<f32[64]>
store(%out, %s)
)");
}

TEST_CASE("equal pure ops are computed once, within sight") {
  CHECK(canonical(kept("%a = mul(%n, %m)\n%b = mul(%n, %m)\n%r = add(%a, %b)\n", "ints")) == R"(
%a = mul(%n, %m): i64
%r = add(%a, %a): i64
%zero = constant() {dtype = i64, value = 0}: i64
%place = slice(%ints, %zero) {index = "at"}: view<i64[]>
store(%place, %r)
)");
  // Neither branch sees what the other computed; both see what stands before.
  const std::string text = canonical(
      kept("%a = mul(%n, %m)\n%r = if %flag: i64 {\n%b = mul(%n, %m)\n%c = sub(%b, %m)\nyield %c\n"
           "} else {\n%d = sub(%a, %m)\nyield %d\n}\n",
           "ints"));
  CHECK(count_of(text, "= mul(") == 1);
  CHECK(count_of(text, "= sub(") == 2);
}

TEST_CASE("loads are not merged, and go only where nobody uses them") {
  const std::string text = canonical(
      "%a = load(%out)\n%b = load(%out)\n%c = load(%out)\n%s = add(%a, %b)\n"
      "store(%out, %s)\n");
  CHECK(count_of(text, "load(") == 2);
}

TEST_CASE("dead code goes, effects stay") {
  CHECK(canonical("%a = add(%n, %m)\n%b = mul(%a, %a)\n") == "\n");
  CHECK(count_of(
            canonical("barrier() {order = \"acq_rel\", scope = \"instance\", team = \"world\"}\n"),
            "barrier") == 1);
  CHECK(canonical(integer("a", 0) + integer("b", 1) +
                  "%s = for %i = range(%a, %n, %b) carry (%c = %x): f32 {\n%d = mul(%c, %c)\n"
                  "yield %d\n}\n") == "\n");
  CHECK(canonical("if %flag {\n%a = add(%n, %m)\nyield\n} else {\nyield\n}\n") == "\n");
}

TEST_CASE("an if on a constant leaves one side") {
  const std::string condition = integer("a", 1) + integer("b", 2) + "%c = lt(%a, %b)\n";
  CHECK(ints(condition + "%r = if %c: i64 {\nyield %n\n} else {\nyield %m\n}\n") == "%n");
  CHECK(ints(condition + "%d = not(%c)\n%r = if %d: i64 {\nyield %n\n} else {\nyield %m\n}\n") ==
        "%m");
}

TEST_CASE("statements after a return that is always reached go") {
  const std::string text = canonical(
      "%c = constant() {dtype = bool, value = true}\nif %c {\nreturn\nyield\n} else {\nyield\n}\n"
      "%t = load(%out)\nstore(%out, %t)\n");
  CHECK(text == "\nreturn\n");
  CHECK(count_of(canonical("if %flag {\nreturn\nyield\n} else {\nyield\n}\n"
                           "%t = load(%out)\nstore(%out, %t)\n"),
                 "store") == 1);
}

TEST_CASE("loops with no iteration or one go") {
  const auto loop = [](int lower, int upper, int step) {
    return integer("l", lower) + integer("u", upper) + integer("s", step) +
           "%r = for %i = range(%l, %u, %s) carry (%c = %n): i64 {\n%d = add(%c, %i)\nyield "
           "%d\n}\n";
  };
  CHECK(ints(loop(3, 3, 1)) == "%n");
  CHECK(ints(loop(4, 3, 1)) == "%n");
  CHECK(ints(loop(3, 4, 1)) == "add(%n, %l): i64");
  CHECK(ints(loop(3, 9, 6)) == "add(%n, %l): i64");
  CHECK(ints(loop(3, 10, 6)).substr(0, 3) == "for");
  CHECK(ints("%s = constant() {dtype = i64, value = 1}\n"
             "%r = for %i = range(%m, %m, %s) carry (%c = %n): i64 {\nyield %i\n}\n") == "%n");
}

TEST_CASE("carried values that never change, or that nobody reads, go") {
  const std::string text = canonical(
      kept(integer("l", 0) + integer("s", 1) +
               "%r, %unused, %same = for %i = range(%l, %n, %s) carry (%a = %n, %b = %m, %c = %m): "
               "i64, i64, i64 {\n%d = add(%a, %c)\nyield %d, %i, %c\n}\n",
           "ints"));
  CHECK(
      text.find("%r = for %i = range(%l, %n, %s) carry (%a = %n): i64 {\n  %d = add(%a, %m): i64\n"
                "  yield %d\n}") != std::string::npos);
}

TEST_CASE("a while loop that never runs leaves its initial values") {
  const std::string text =
      integer("one", 1) + integer("two", 2) +
      "%r = while carry (%a = %n): i64 {\n%c = lt(%two, %one)\nyield %c\n} do (%b) {\n"
      "%d = add(%b, %one)\nyield %d\n}\n";
  CHECK(ints(text) == "%n");
}

TEST_CASE("a while loop keeps only carried values that change and are used") {
  const std::string text = canonical(kept(
      integer("one", 1) + "%r, %s, %t = while carry (%a = %n, %b = %m, %c = %n): i64, i64, i64 {\n"
                          "%goes = lt(%a, %b)\nyield %goes\n} do (%d, %e, %f) {\n"
                          "%g = add(%d, %one)\n%h = add(%d, %e)\nyield %g, %e, %h\n}\n",
      "ints"));
  CHECK(count_of(text, "= while carry (%a = %n): i64 {") == 1);
  CHECK(count_of(text, "lt(%a, %m)") == 1);
  CHECK(count_of(text, "} do (%d) {") == 1);
}

}  // namespace tilewire

#include <limits>
#include <string>

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

/// Prints, parses, prints; the texts must be equal, and equal to `text` where it is canonical.
void check_round_trip(const std::string& text) {
  const std::string once = print(parse_program(text));
  CHECK(once == text);
  CHECK(print(parse_program(once)) == once);
}

constexpr const char* kEverything =
    R"(program @everything from "dir/my file.py" world 4 lsa 2 threads 256 grid [T] {
  const H = 64
  const name = "a \"quoted\" \\ word"
  const rate = 0.5
  const dtype = bf16
  const flag = true
  const sizes = [1, 2]
  window %x: bf16[T, 64] {alignment = 16, contiguous = true, mappable = true}
  tensor %y: f32[T, U, 3] {alignment = 4, contiguous = false, mappable = false}
  scalar %eps: f32 {alignment = 1, contiguous = false, mappable = false}
  dimension %T
  dimension %U
} body {
  barrier() {order = "acq_rel", scope = "instance", team = "lsa"} @ 3:5
  %c0 = constant() {dtype = i64, value = 0}: i64
  %c1 = constant() {dtype = i64, value = 1}: i64 @ "other.py":4:1
  %acc = full(%eps) {shape = [64]}: tile<f32[64], vector 8>
  for %row = persistent(%c0, %T, %c1) @ 4:5 {
    %acc_1 = for %r = ranks(%c0, %c1, %c1) with {team = "lsa"} carry (%acc_2 = %acc): tile<f32[64], vector 8> {
      %at = at(%x, %r) {team = "lsa"}: window<bf16[?, 64]>
      %slice = slice(%at, %row) {index = "at, all"}: window<bf16[64]>
      %load = load(%slice): tile<bf16[64]>
      %cast = cast(%load) {dtype = f32}: tile<f32[64], vector 8>
      %add = add(%acc_2, %cast): tile<f32[64], vector 8>
      yield %add
    }
    %lt = lt(%row, %U): bool
    %chosen, %chosen_1 = if %lt: i64, f32 @ 9:1 {
      yield %row, %eps
    } else {
      return @ 11:3
      yield %c0, %eps
    }
    %acc_3, %n = while with {note = 1} carry (%acc_4 = %acc, %n_1 = %c0): tile<f32[64], vector 8>, i64 @ 12:1 {
      %lt_1 = lt(%n_1, %U): bool @ 12:7
      yield %lt_1
    } do (%acc_5, %n_2) {
      while @ 13:3 {
        %lt_2 = lt(%n_2, %U): bool
        yield %lt_2
      } do {
        return @ 14:5
        yield
      }
      yield %acc_5, %c1
    }
    %tile = slice(%y, %row, %c0, %c0, %c1) {index = "at, ds 4, range"}: view<f32[4, ?]>
    yield
  }
  return
}
)";

}  // namespace

constexpr const char* kObjects =
    R"(program @objects from "f.py" world 2 lsa 2 grid [T, T by 64, 7] most 8 {
  semaphore %sem: [8]
  flag %ready: [2, 64]
  channel %ch: [2, 64] {carrying = "tagged", depth = 2, message = "bf16[2048], f32"}
  window %x: bf16[T] {rotate = 3}
  dimension %T
} body {
  %c1 = constant() {dtype = i64, value = 1}: i64
  %n = constant() {dtype = u32, value = 1}: u32
  %at = at(%sem, %c1) {team = ""}: semaphore<[8]>
  %slice = slice(%at, %c1) {index = "at"}: semaphore<[]>
  signal(%slice, %n)
  wait(%sem, %n) {patient = true}
  %row = slice(%ready, %c1) {index = "at, all"}: flag<[64]>
  %slots = slice(%ch, %c1) {index = "all, at"}: channel<[2]>
}
)";

TEST_CASE("objects, rotating windows and what bounds grids are read back") {
  check_round_trip(kObjects);
  const Program program = parse_program(kObjects);
  CHECK(program.parameters[2].channel.message_text() == "bf16[2048], f32");
  CHECK(program.parameters[3].rotate == 3);
  CHECK(program.useful_grid == std::vector<GridBound>{{0, 1}, {0, 64}, {GridBound::kNone, 7}});
  CHECK(program.max_grid == 8);
}

TEST_CASE("IR text of every construct reads back as the same text") {
  check_round_trip(kEverything);
}

TEST_CASE("layouts stand in tile types") {
  for (const char* layout :
       {"vector 8", "vector 8, rows 4", "vector 1, per_row 16", "vector 2, per_column 64",
        "vector 2, fragment", "vector 1, fragment_per_row", "vector 2, fragment_per_column",
        "vector 1, staged"}) {
    CAPTURE(layout);
    check_round_trip(
        "program @p from \"f.py\" world 1 lsa 1 threads 128 {\n  scalar %s: f32\n} body {\n"
        "  %t = full(%s) {shape = [16, 32]}: tile<f32[16, 32], " +
        std::string(layout) + ">\n}\n");
  }
  CHECK_THROWS_AS(
      parse_program("program @p from \"f.py\" world 1 lsa 1 {\n  scalar %s: f32\n} body "
                    "{\n  %t = full(%s) {shape = [4]}: tile<f32[4], vector 1, diagonal "
                    "2>\n}\n"),
      UserError);
}

TEST_CASE("numbers in attributes keep their type and bits") {
  for (const char* value : {"1.0", "-0.0", "1e-06", "inf", "-inf", "nan", "1.7976931348623157e+308",
                            "0.1", "5e-324", "123456789.0", "1e+16"}) {
    CAPTURE(value);
    check_round_trip(
        "program @p from \"f.py\" world 1 lsa 1 {\n} body {\n  %c = constant() "
        "{dtype = f64, value = " +
        std::string(value) + "}: f64\n}\n");
  }
  for (const char* value : {"-9223372036854775808", "9223372036854775807"}) {
    const Program program =
        parse_program("program @p from \"f.py\" world 1 lsa 1 {\n const N = " + std::string(value) +
                      "\n} body {\n}\n");
    CHECK(to_string(program.constants.at(0).second) == value);
  }
}

TEST_CASE("strings keep control characters") {
  const std::string text =
      "program @p from \"a\\n\\\"b\\\\\\x01.py\" world 1 lsa 1 {\n} body {\n}\n";
  const Program program = parse_program(text);
  CHECK(program.source_file == "a\n\"b\\\x01.py");
  CHECK(print(program) == text);
}

TEST_CASE("names are made unique in order of definition") {
  Program program;
  program.name = "names";
  program.source_file = "f.py";
  const auto constant = [&program](std::int64_t value, const char* name) {
    auto statement = program.new_op("constant", {}, {{"dtype", DType::kI64}, {"value", value}}, {});
    statement->result()->name = name;
    program.body.statements.push_back(std::move(statement));
  };
  constant(1, "a");
  constant(2, "a");
  constant(3, "a_1");
  constant(4, "");
  constant(-4, "");
  constant(4, "");
  constant(5, "two words");
  constant(6, "1st");
  const std::string text = print(program);
  CHECK(text == R"(program @names from "f.py" world 1 lsa 1 {
} body {
  %a = constant() {dtype = i64, value = 1}: i64
  %a_1 = constant() {dtype = i64, value = 2}: i64
  %a_2 = constant() {dtype = i64, value = 3}: i64
  %c4 = constant() {dtype = i64, value = 4}: i64
  %c_minus4 = constant() {dtype = i64, value = -4}: i64
  %c4_1 = constant() {dtype = i64, value = 4}: i64
  %two_words = constant() {dtype = i64, value = 5}: i64
  %_1st = constant() {dtype = i64, value = 6}: i64
}
)");
  check_round_trip(text);
}

TEST_CASE("locations can be left out, types and comments are optional in text") {
  const Program program = parse_program(R"(program @p from "f.py" world 1 lsa 1 {  # a comment
} body {
  %a = constant() {dtype = f32, value = 2.0} @ 3:4
  %b = add(%a, %a) @ 5:6
}
)");
  PrintOptions options;
  options.locations = false;
  CHECK(print(program, options) == R"(program @p from "f.py" world 1 lsa 1 {
} body {
  %a = constant() {dtype = f32, value = 2.0}: f32
  %b = add(%a, %a): f32
}
)");
}

TEST_CASE("locations carry the program's file") {
  const Program program = parse_program(kEverything);
  CHECK(program.body.statements.at(0)->location == SourceLocation{"dir/my file.py", 3, 5});
  CHECK(program.body.statements.at(2)->location == SourceLocation{"other.py", 4, 1});
  CHECK_FALSE(program.body.statements.at(1)->location.is_known());
}

TEST_CASE("every prefix of a program, and every single change of a character, is read or refused") {
  const std::string text = kEverything;
  for (std::size_t length = 0; length < text.size(); ++length) {
    if (length + 1 == text.size()) continue;  // only the last line end is missing: a program
    CHECK_THROWS_AS(parse_program(text.substr(0, length)), UserError);
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char replacement : {'%', '{', '}', '9', '-', '"', 'x', ' '}) {
      std::string changed = text;
      changed[i] = replacement;
      try {
        const std::string printed = print(parse_program(changed));
        CHECK(print(parse_program(printed)) == printed);
      } catch (const UserError&) {  // refusing is right; crashing or InternalError is not
      }
    }
  }
}

TEST_CASE("deep nesting is refused, not a crash") {
  std::string text = "program @p from \"f.py\" world 1 lsa 1 {\n scalar %c: bool\n} body {\n";
  for (int i = 0; i < 100000; ++i) text += "if %c {\n";
  CHECK_THROWS_AS(parse_program(text), UserError);
}

}  // namespace tilewire

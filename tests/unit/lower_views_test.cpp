#include <string>

#include "compiler/ops/memory.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// Lowered views of a program with the usual parameters. Windows and `c` are contiguous, `s` isn't.
Program lowered(const std::string& statements,
                const std::string& facts = "{alignment = 16, contiguous = true}") {
  const std::string declarations =
      "window %w: bf16[T, 64]\nwindow %w3: f32[4, T, 32]\ntensor %c: f32[T, 60] " + facts +
      "\ntensor %s: f32[T, 64]\ntensor %v: bf16[N] " + facts +
      "\nscalar %i: i64\nscalar %j: i64\ndimension %T\ndimension %N";
  return canonicalise(lower_views(canonicalise(program_of(declarations, statements, 2))));
}

std::string lowered_text(const std::string& statements) { return body_of(lowered(statements)); }

/// The one access that a program is left with.
TileAccess only_access(const Program& program) {
  const Statement* found = nullptr;
  for_each_statement(program.body, [&found](const Statement& statement) {
    if (statement.is("tile_store")) found = &statement;
  });
  REQUIRE(found != nullptr);
  return TileAccess::of(*found);
}

/// Whether each dimension of a store to `view` is masked (`m`) or proven inside (`-`); `?` behind
/// them where the whole access is guarded.
std::string masks(const std::string& view_statements, const std::string& shape,
                  const std::string& dtype = "f32") {
  const std::string zero = "%zero_value = constant() {dtype = " + dtype + ", value = 0.0}\n";
  const std::string fill =
      shape.empty() ? "" : "%tile = full(%zero_value) {shape = [" + shape + "]}\n";
  // Stands where the view does, so that views inside loops work too.
  std::string statements = view_statements;
  const std::string store =
      zero + fill + "store(%view, " + (shape.empty() ? "%zero_value" : "%tile") + ")\n";
  statements.replace(statements.find("STORE\n"), 6, store);
  const TileAccess access = only_access(lowered(statements));
  std::string text;
  for (const AccessDimension& dimension : access.dimensions) text += dimension.mask ? 'm' : '-';
  return access.predicate != nullptr ? text + "?" : text;
}

std::string number(const std::string& name, std::int64_t value) {
  return "%" + name + " = constant() {dtype = i64, value = " + std::to_string(value) + "}\n";
}

/// A loop around `body`, over `index` from 0.
std::string loop(const std::string& index, const std::string& upper, const std::string& body) {
  return number("zero", 0) + number("one", 1) + "for %" + index + " = range(%zero, %" + upper +
         ", %one) {\n" + body + "yield\n}\n";
}

int vector_of(const std::string& view, const std::string& shape, const std::string& dtype,
              const std::string& facts = "{alignment = 16, contiguous = true}") {
  const Program program =
      lowered("%zero_value = constant() {dtype = " + dtype + ", value = 0.0}\n" + view +
                  "%tile = full(%zero_value) {shape = [" + shape + "]}\nstore(%view, %tile)\n",
              facts);
  return only_access(program).vector;
}

}  // namespace

TEST_CASE("a row of a contiguous array is an offset and unit strides") {
  CHECK(
      lowered_text("%a = at(%w, %i) {team = \"lsa\"}\n%view = slice(%a, %j) {index = \"at, all\"}\n"
                   "%row = load(%view)\nstore(%view, %row)\n") == R"(
%c0 = constant() {dtype = i64, value = 0}: i64
%ge = ge(%j, %c0): bool
%lt = lt(%j, %T): bool
%c64 = constant() {dtype = i64, value = 64}: i64
%mul = mul(%j, %c64): i64
%address = address(%w, %i, %mul) {peer = true}: pointer<bf16>
%and = and(%ge, %lt): bool
%row = tile_load(%address, %and) {masked = [0], predicated = true, shape = [64], strides = [1], vector = 8}: tile<bf16[64]>
tile_store(%address, %row, %and) {masked = [0], predicated = true, shape = [64], strides = [1], vector = 8}
)");
}

TEST_CASE("strides of windows are products of extents, of other tensors run-time values") {
  CHECK(lowered_text(number("n", 0) +
                     "%view = slice(%w3, %n) {index = \"all, ds 8, all\"}\n%t = load(%view)\n"
                     "store(%view, %t)\n")
            .find("strides = [-1, 32, 1]") != std::string::npos);
  const std::string text = lowered_text(number("n", 0) +
                                        "%view = slice(%s, %n) {index = \"ds 8, all\"}\n"
                                        "%t = load(%view)\nstore(%view, %t)\n");
  CHECK(text.find("%stride = stride(%s) {dimension = 1}: i64") != std::string::npos);
  CHECK(text.find("strides = [-1, -1]") != std::string::npos);
  CHECK(text.find("vector = 1}") != std::string::npos);
}

TEST_CASE("an index is guarded unless it is proven inside") {
  const std::string row = "%view = slice(%c, %row) {index = \"at, all\"}\nSTORE\n";
  CHECK(masks("%view = slice(%c, %i) {index = \"at, all\"}\nSTORE\n", "60") == "-?");
  CHECK(masks(loop("row", "T", row), "60") == "-");
  CHECK(masks(loop("row", "N", row), "60") == "-?");  // N may exceed T
  CHECK(masks(number("k", 3) + "%view = slice(%c, %k) {index = \"at, all\"}\nSTORE\n", "60") ==
        "-?");  // T may be 3
  const std::string three = "%view = slice(%w3, %k, %i) {index = \"at, at, all\"}\nSTORE\n";
  CHECK(masks(number("k", 3) + three, "32") == "-?");
  const auto of_world = [](const std::string& index) {
    return loop("t", "T",
                "%view = slice(%w3, " + index + ", %t) {index = \"at, at, all\"}\nSTORE\n");
  };
  CHECK(masks(number("k", 3) + of_world("%k"), "32") == "-");
  CHECK(masks(number("k", 4) + of_world("%k"), "32") == "-?");
  CHECK(masks(number("k", -1) + of_world("%k"), "32") == "-?");
  CHECK(masks("%rank = rank() {team = \"world\"}\n" + of_world("%rank"), "32") == "-");
  CHECK(masks("%id = program_id() {axis = 0}\n" + of_world("%id"), "32") == "-?");
}

TEST_CASE("a persistent loop's row is inside") {
  CHECK(masks("%id = program_id() {axis = 0}\n%count = num_programs() {axis = 0}\n"
              "for %row = range(%id, %T, %count) {\n%view = slice(%c, %row) {index = \"at, all\"}\n"
              "STORE\nyield\n}\n",
              "60") == "-");
}

TEST_CASE("a part is masked unless all of it is proven inside") {
  const auto part = [](const std::string& start, int size) {
    return "%view = slice(%c, %zero, %" + start + ") {index = \"ds 1, ds " + std::to_string(size) +
           "\"}\nSTORE\n";
  };
  const auto columns = [&](int start, int size) {
    return masks(number("zero", 0) + number("start", start) + part("start", size),
                 "1, " + std::to_string(size));
  };
  CHECK(columns(0, 60) == "m-");  // T may be 0
  CHECK(columns(44, 16) == "m-");
  CHECK(columns(45, 16) == "mm");
  CHECK(columns(-1, 16) == "mm");
  CHECK(columns(0, 64) == "mm");
  const auto blocks = [&](std::int64_t count, int size) {
    return masks(number("count", count) +
                     loop("b", "count",
                          number("size", size) + "%start = mul(%b, %size)\n" + part("start", size)),
                 "1, " + std::to_string(size));
  };
  CHECK(blocks(5, 12) == "m-");
  CHECK(blocks(6, 12) == "mm");
  CHECK(blocks(3, 16) == "m-");
  CHECK(blocks(4, 16) == "mm");
}

TEST_CASE("whole blocks of a run-time extent need no mask, rounding up does") {
  const auto blocks = [](const std::string& count) {
    return masks(number("size", 16) + number("more", 15) + "%up = add(%N, %more)\n" +
                     "%whole = floordiv(%N, %size)\n%all = floordiv(%up, %size)\n" +
                     loop("b", count,
                          "%start = mul(%b, %size)\n%view = slice(%v, %start) {index = \"ds 16\"}\n"
                          "STORE\n"),
                 "16", "bf16");
  };
  CHECK(blocks("whole") == "-");
  CHECK(blocks("all") == "m");
}

TEST_CASE("an index and a part of a part are checked against both") {
  const auto outer = [](const std::string& start) {
    return "%part = slice(%v, %" + start + ") {index = \"ds 16\"}\n";
  };
  const std::string inner = "%view = slice(%part, %k) {index = \"ds 4\"}\nSTORE\n";
  CHECK(masks(outer("i") + number("k", 12) + inner, "4", "bf16") == "m");
  const Program program =
      lowered("%z = constant() {dtype = bf16, value = 0.0}\n" + outer("i") + number("k", 12) +
              "%view = slice(%part, %k) {index = \"ds 4\"}\n%tile = full(%z) {shape = [4]}\n"
              "store(%view, %tile)\n");
  CHECK(body_of(program).find("%add = add(%i, %k): i64") != std::string::npos);
  // Past the part's own end: min(begin, 0) + start and min(bound - begin, 16) + min(begin, 0).
  const std::string text =
      lowered_text("%z = constant() {dtype = bf16, value = 0.0}\n" + outer("i") + number("k", 14) +
                   "%view = slice(%part, %k) {index = \"ds 4\"}\n%tile = full(%z) {shape = [4]}\n"
                   "store(%view, %tile)\n");
  CHECK(text.find("%minimum = minimum(%i, %c0): i64\n%sub = sub(%N, %i): i64\n"
                  "%minimum_1 = minimum(%sub, %c16): i64\n%add = add(%minimum, %k): i64\n"
                  "%add_1 = add(%minimum_1, %minimum): i64") != std::string::npos);
  const std::string at = "%view = slice(%part, %j) {index = \"at\"}\nSTORE\n";
  CHECK(masks(outer("i") + at, "", "bf16") == "?");
  CHECK(masks(number("k", 3) + outer("i") + "%view = slice(%part, %k) {index = \"at\"}\nSTORE\n",
              "", "bf16") == "?");
}

TEST_CASE("a range clips to its parent, and later indices are relative to it") {
  const std::string text = lowered_text(
      "%z = constant() {dtype = bf16, value = 0.0}\n"
      "%r = slice(%v, %i, %j) {index = \"range\"}\n" +
      number("k", 8) +
      "%view = slice(%r, %k) {index = \"ds 8\"}\n%tile = full(%z) {shape = [8]}\n"
      "store(%view, %tile)\n");
  CHECK(text == R"(
%z = constant() {dtype = bf16, value = 0.0}: bf16
%c0 = constant() {dtype = i64, value = 0}: i64
%maximum = maximum(%i, %c0): i64
%minimum = minimum(%maximum, %N): i64
%minimum_1 = minimum(%j, %N): i64
%maximum_1 = maximum(%minimum_1, %minimum): i64
%sub = sub(%maximum_1, %minimum): i64
%k = constant() {dtype = i64, value = 8}: i64
%tile = full(%z) {shape = [8]}: tile<bf16[8]>
%add = add(%minimum, %k): i64
%address = address(%v, %add): pointer<bf16>
tile_store(%address, %tile, %k, %sub) {masked = [1], shape = [8], strides = [1], vector = 1}
)");
}

TEST_CASE("the extent of a view") {
  CHECK(lowered_text("%r = slice(%c, %i, %j) {index = \"range, all\"}\n"
                     "%n = extent(%r) {dimension = 1}\n%f = cast(%n) {dtype = f32}\n"
                     "%view = slice(%c, %i, %i) {index = \"at, at\"}\nstore(%view, %f)\n")
            .find("value = 60.0}: f32") != std::string::npos);
  CHECK(lowered_text("%n = extent(%c) {dimension = 0}\n%f = cast(%n) {dtype = f32}\n"
                     "%view = slice(%c, %i, %i) {index = \"at, at\"}\nstore(%view, %f)\n")
            .find("cast(%T)") != std::string::npos);
}

TEST_CASE("other and where stay with a load, where with a store") {
  const std::string text = lowered_text(
      "%z = constant() {dtype = bf16, value = 1.0}\n"
      "%view = slice(%v, %i) {index = \"ds 8\"}\n%same = load(%view)\n%where = gt(%same, %z)\n"
      "%t = load(%view, %z, %where) {other = true, where = true}\n"
      "store(%view, %t, %where) {where = true}\n");
  CHECK(text.find(
            "%t = tile_load(%address, %i, %N, %z, %where) {masked = [1], other = true, shape = "
            "[8], strides = [1], vector = 1, where = true}: tile<bf16[8]>") != std::string::npos);
  CHECK(text.find("tile_store(%address, %t, %i, %N, %where) {masked = [1], shape = [8], strides = "
                  "[1], vector = 1, where = true}") != std::string::npos);
}

TEST_CASE("how many elements are aligned together") {
  const auto row = [](const std::string& tensor) {
    return "%view = slice(%" + tensor + ", %i) {index = \"at, all\"}\n";
  };
  CHECK(vector_of(row("w"), "64", "bf16") == 8);
  CHECK(vector_of(row("c"), "60", "f32") == 4);  // rows of 240 bytes
  CHECK(vector_of(row("c"), "60", "f32", "{alignment = 8, contiguous = true}") == 2);
  CHECK(vector_of(row("c"), "60", "f32", "{alignment = 4, contiguous = true}") == 1);
  CHECK(vector_of(row("c"), "60", "f32", "{alignment = 16, contiguous = false}") == 1);
  CHECK(vector_of(row("s"), "64", "f32") == 1);
  const auto part = [](std::int64_t factor, int size) {
    return number("factor", factor) +
           "%start = mul(%i, %factor)\n%view = slice(%v, %start) {index = "
           "\"ds " +
           std::to_string(size) + "\"}\n";
  };
  CHECK(vector_of(part(8, 32), "32", "bf16") == 8);
  CHECK(vector_of(part(64, 32), "32", "bf16") == 8);
  CHECK(vector_of(part(4, 32), "32", "bf16") == 4);
  CHECK(vector_of(part(12, 32), "32", "bf16") == 4);
  CHECK(vector_of(part(3, 32), "32", "bf16") == 1);
  CHECK(vector_of(part(8, 12), "12", "bf16") == 4);
  CHECK(vector_of(part(8, 33), "33", "bf16") == 1);
}

}  // namespace tilewire

#include <map>
#include <string>

#include "compiler/frontend/builder.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

struct Layouts {
  int num_threads = 0;
  int num_relayouts = 0;
  std::map<std::string, int> vectors;        ///< by name of the tile
  std::map<std::string, std::string> texts;  ///< as IR text has them
};

Layouts layouts_of(Program program, int alignment = 16) {
  const Target target = Target::parse("cpu");
  program.facts.contiguous.assign(program.parameters.size(), true);
  program.facts.alignment.assign(program.parameters.size(), alignment);
  program = lower(std::move(program), target);
  Layouts layouts;
  layouts.num_threads = program.num_threads;
  for_each_statement(program.body, [&layouts](const Statement& statement) {
    if (statement.is("relayout")) ++layouts.num_relayouts;
    for (const Value* result : statement.results) {
      if (!result->type.is_tile()) continue;
      CHECK(result->type.num_elements() % result->type.layout.vector == 0);
      layouts.vectors[result->name] = result->type.layout.vector;
      layouts.texts[result->name] = result->type.layout.to_string();
    }
  });
  return layouts;
}

/// y = x + 1 over one tile.
Layouts of_copy(std::vector<std::int64_t> shape, DType from, DType to) {
  Builder b("copy", "f.py", Target::parse("cpu"));
  std::vector<Dimension> dimensions;
  for (const std::int64_t extent : shape) dimensions.push_back({extent, {}});
  Value* x = b.tensor("x", from, dimensions);
  Value* y = b.tensor("y", to, dimensions);
  Value* loaded = b.name(b.load(x), "loaded");
  b.store(y, b.name(b.binary("add", loaded, 1.0), "sum"));
  return layouts_of(b.finish());
}

}  // namespace

TEST_CASE("threads give each about 16 elements of the largest tile") {
  CHECK(of_copy({33}, DType::kF32, DType::kF32).num_threads == 128);
  CHECK(of_copy({1000}, DType::kF32, DType::kF32).num_threads == 128);
  CHECK(of_copy({4096}, DType::kF32, DType::kF32).num_threads == 256);
  CHECK(of_copy({5120}, DType::kF32, DType::kF32).num_threads == 512);
  CHECK(of_copy({8192}, DType::kF32, DType::kF32).num_threads == 512);
  CHECK(of_copy({16, 48}, DType::kF32, DType::kF32).num_threads == 128);
  CHECK(of_copy({32768}, DType::kF32, DType::kF32).num_threads == 512);   // 64 each
  CHECK(of_copy({32800}, DType::kF32, DType::kF32).num_threads == 1024);  // more than 64 each
  CHECK(of_copy({1 << 20}, DType::kF32, DType::kF32).num_threads == 1024);
}

TEST_CASE("vectors are 16 bytes of the smallest dtype in memory, where the extent allows") {
  const auto vector = [](std::vector<std::int64_t> shape, DType from, DType to) {
    const Layouts layouts = of_copy(std::move(shape), from, to);
    CHECK(layouts.vectors.at("loaded") == layouts.vectors.at("sum"));
    return layouts.vectors.at("sum");
  };
  CHECK(vector({33}, DType::kF32, DType::kF32) == 1);
  CHECK(vector({33}, DType::kBF16, DType::kBF16) == 1);
  CHECK(vector({1000}, DType::kF32, DType::kF32) == 4);
  CHECK(vector({1000}, DType::kBF16, DType::kBF16) == 8);
  CHECK(vector({1004}, DType::kBF16, DType::kBF16) == 4);
  CHECK(vector({5120}, DType::kBF16, DType::kBF16) == 8);
  CHECK(vector({8192}, DType::kBF16, DType::kF32) == 8);  // f32 goes in two pieces of 16 bytes
  CHECK(vector({8192}, DType::kF32, DType::kBF16) == 8);
  CHECK(vector({16, 48}, DType::kBF16, DType::kBF16) == 8);
  CHECK(vector({16, 6}, DType::kF32, DType::kF32) == 2);
  CHECK(vector({8192}, DType::kF64, DType::kF64) == 2);
  CHECK(vector({8192}, DType::kE4M3, DType::kF32) == 16);
}

TEST_CASE("the least aligned access decides") {
  Builder b("aligned", "f.py", Target::parse("cpu"));
  Value* x = b.tensor("x", DType::kBF16, {{8192, {}}});
  Value* start = b.scalar("start", DType::kI64);
  Value* even = b.binary("mul", start, std::int64_t{2});
  Value* loaded = b.name(b.load(b.slice(x, {Index::ds(even, 64)})), "loaded");
  b.store(b.slice(x, {Index::ds(std::int64_t{0}, 64)}), b.name(b.unary("neg", loaded), "negated"));
  const Layouts layouts = layouts_of(b.finish());
  CHECK(layouts.vectors.at("loaded") == 2);
  CHECK(layouts.vectors.at("negated") == 2);
}

TEST_CASE("what a loop carries has one layout; other shapes have their own") {
  Builder b("carried", "f.py", Target::parse("cpu"));
  Value* x = b.tensor("x", DType::kBF16, {{64, {}}, {32, {}}});
  Value* y = b.tensor("y", DType::kF32, {{32, {}}});
  Value* n = b.scalar("n", DType::kI64);
  Value* acc = b.name(b.zeros({32}, DType::kF32), "acc");
  const Values sums =
      b.for_range(std::int64_t{0}, n, std::int64_t{1}, {acc}, [&](Value* i, const Values& carried) {
        Value* row = b.name(b.load(b.slice(x, {Index::at(i), Index::all()})), "row");
        return std::vector<Operand>{b.name(b.binary("add", carried[0], row), "next")};
      });
  Value* table = b.name(b.load(x), "table");
  Value* columns = b.name(b.reduce("sum", table, 0), "columns");
  b.store(y, b.name(b.binary("add", sums[0], columns), "total"));
  const Layouts layouts = layouts_of(b.finish());
  for (const char* name : {"acc", "row", "next", "columns", "total", "table"}) {
    CAPTURE(name);
    CHECK(layouts.vectors.at(name) == 8);
  }
}

TEST_CASE("tiles that never meet memory take 16 bytes of what they are computed in") {
  Builder b("apart", "f.py", Target::parse("cpu"));
  Value* y = b.tensor("y", DType::kF32, {{1, {}}});
  Value* numbers = b.name(b.arange(0, 48), "numbers");
  Value* odd = b.name(b.arange(0, 7), "odd");
  Value* sum = b.binary("add", b.reduce("sum", numbers), b.reduce("sum", odd));
  b.store(b.slice(y, {Index::at(std::int64_t{0})}), sum);
  const Layouts layouts = layouts_of(b.finish());
  CHECK(layouts.vectors.at("numbers") == 4);
  CHECK(layouts.vectors.at("odd") == 1);
}

namespace {

/// A norm over rows: what is summed along rows comes back to them, and so does a row of weights.
Program norm_of_rows(std::int64_t rows, std::int64_t columns) {
  Builder b("norm", "f.py", Target::parse("cpu"));
  Value* x = b.tensor("x", DType::kBF16, {{rows, {}}, {columns, {}}});
  Value* gain = b.tensor("gain", DType::kBF16, {{columns, {}}});
  Value* sums_of = b.tensor("sums_of", DType::kF32, {{rows, {}}});
  Value* tile = b.name(b.load(x), "tile");
  Value* sums = b.name(b.reduce("sum", tile, 1), "sums");
  b.store(sums_of, sums);
  Value* scales = b.name(b.reshape(b.unary("rsqrt", sums), {rows, 1}), "scales");
  Value* weights = b.name(b.load(gain), "weights");
  Value* scaled = b.name(b.binary("mul", tile, b.cast(scales, DType::kBF16)), "scaled");
  b.store(x, b.name(b.binary("mul", scaled, weights), "result"));
  return b.finish();
}

}  // namespace

TEST_CASE("what meets rows is a slice of them, and nothing is converted") {
  const Layouts layouts = layouts_of(norm_of_rows(16, 128));
  CHECK(layouts.num_threads == 128);
  CHECK(layouts.num_relayouts == 0);
  for (const char* name : {"tile", "scaled", "result"}) {
    CAPTURE(name);
    CHECK(layouts.texts.at(name) == "vector 8, rows 8");
  }
  CHECK(layouts.texts.at("sums") == "vector 1, per_row 8");
  CHECK(layouts.texts.at("scales") == "vector 1, per_row 8");
  CHECK(layouts.texts.at("weights") == "vector 8, per_column 8");
}

TEST_CASE("lanes fit rows: few registers with padding, a warp where a row fits in one") {
  const auto tile = [](std::int64_t rows, std::int64_t columns) {
    return layouts_of(norm_of_rows(rows, columns)).texts.at("tile");
  };
  CHECK(tile(1, 8192) == "vector 8, rows 512");
  CHECK(tile(4, 8192) == "vector 8, rows 128");
  CHECK(tile(16, 1024) == "vector 8, rows 32");
  CHECK(tile(16, 96) == "vector 8, rows 8");
  CHECK(tile(7, 33) == "vector 1, rows 16");
}

TEST_CASE("what is known of this rank's memory changes vectors, never lanes or threads") {
  const Layouts aligned = layouts_of(norm_of_rows(16, 128));
  const Layouts unaligned = layouts_of(norm_of_rows(16, 128), 2);
  CHECK(unaligned.num_threads == aligned.num_threads);
  CHECK(unaligned.texts.at("tile") == "vector 1, rows 8");
  CHECK(unaligned.texts.at("sums") == aligned.texts.at("sums"));
}

TEST_CASE("a slice that two layouts ask for is converted once, outside of the loop") {
  Builder b("conflict", "f.py", Target::parse("cpu"));
  Value* x = b.tensor("x", DType::kF32, {{64, {}}, {64, {}}});
  Value* y = b.tensor("y", DType::kF32, {{64, {}}, {16, {}}});
  Value* n = b.scalar("n", DType::kI64);
  Value* peaks = b.name(b.reduce("max", b.name(b.load(x), "wide"), 1), "peaks");
  b.for_range(std::int64_t{0}, n, std::int64_t{1}, {}, [&](Value*, const Values&) {
    Value* narrow = b.name(b.load(y), "narrow");
    b.store(y, b.binary("sub", narrow, b.reshape(peaks, {64, 1})));
    return std::vector<Operand>{};
  });
  const Layouts layouts = layouts_of(b.finish());
  CHECK(layouts.texts.at("wide") != layouts.texts.at("narrow"));
  CHECK(layouts.num_relayouts == 1);
  CHECK(layouts.texts.at("peaks") == "vector 1, per_row 4");
}

}  // namespace tilewire

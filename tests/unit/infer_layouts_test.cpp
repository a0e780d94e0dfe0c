#include <map>
#include <string>

#include "compiler/frontend/builder.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

struct Layouts {
  int num_threads = 0;
  std::map<std::string, int> vectors;  ///< by name of the tile
};

Layouts layouts_of(Program program) {
  const Target target = Target::parse("cpu");
  program.facts.contiguous.assign(program.parameters.size(), true);
  program.facts.alignment.assign(program.parameters.size(), 16);
  program = lower(std::move(program), target);
  Layouts layouts;
  layouts.num_threads = program.num_threads;
  for_each_statement(program.body, [&layouts](const Statement& statement) {
    for (const Value* result : statement.results) {
      if (!result->type.is_tile()) continue;
      CHECK(result->type.shape.back() % result->type.layout.vector == 0);
      layouts.vectors[result->name] = result->type.layout.vector;
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

}  // namespace tilewire

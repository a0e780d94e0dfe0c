// The layouts of tiles that meet staged products.
#include <functional>
#include <string>

#include "compiler/frontend/builder.h"
#include "compiler/ops/layouts.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

constexpr std::int64_t kRows = 128;  // unless a test says otherwise
constexpr std::int64_t kColumns = 64;

/// Views and the product of one tile, for what follows it.
struct Parts {
  Builder& b;
  Value* product;  ///< f32[128, 64]
  Value* bias;     ///< bf16[64]
  Value* scales;   ///< f32[128]
  Value* c;        ///< f32[128, 64]
  Value* half;     ///< f32[128, 32]
  Value* row;      ///< f32[1, 4096]
};

/// The text of a program that computes one product of so many rows and does `rest`, lowered.
std::string text_of(const std::function<void(const Parts&)>& rest, std::int64_t rows = kRows) {
  const Target to = Target::parse("sm_90a");
  Builder b("p", "p.py", to);
  Value* left = b.tensor("left", DType::kBF16, {{rows, {}}, {kDynamic, "K"}});
  Value* right = b.tensor("right", DType::kBF16, {{kColumns, {}}, {kDynamic, "K"}});
  Value* bias = b.tensor("bias", DType::kBF16, {{kColumns, {}}});
  Value* scales = b.tensor("scales", DType::kF32, {{rows, {}}});
  Value* c = b.tensor("c", DType::kF32, {{rows, {}}, {kColumns, {}}});
  Value* half = b.tensor("half", DType::kF32, {{rows, {}}, {kColumns / 2, {}}});
  Value* row = b.tensor("row", DType::kF32, {{1, {}}, {4096, {}}});
  Builder::MatmulOptions options;
  options.block_k = 64;
  options.transpose_b = true;
  rest({b, b.matmul(left, right, options), bias, scales, c, half, row});
  Program program = b.finish();
  program.facts.contiguous.assign(program.parameters.size(), true);
  program.facts.alignment.assign(program.parameters.size(), 16);
  program.facts.local_only.assign(program.parameters.size(), true);
  program.facts.mappable.assign(program.parameters.size(), true);
  return body_of(lower(std::move(program), to));
}

}  // namespace

TEST_CASE("rows and columns that meet a product lie as its slices") {
  const std::string text = text_of([](const Parts& p) {
    Value* bias = p.b.reshape(p.b.load(p.bias), {1, kColumns});
    Value* scales = p.b.reshape(p.b.load(p.scales), {kRows, 1});
    p.b.store(p.c, p.b.binary("add", p.b.binary("mul", p.product, scales), bias));
  });
  CHECK(count_of(text, "tile<bf16[64], vector 2, fragment_per_column>") == 1);
  CHECK(count_of(text, "tile<f32[128], vector 1, fragment_per_row>") == 1);
  CHECK(count_of(text, "tile<f32[128, 64], vector 2, fragment>") >= 4);
  CHECK(count_of(text, "relayout") == 0);
}

TEST_CASE("what reductions of a product leave are its slices") {
  const std::string text = text_of([](const Parts& p) {
    Value* peaks = p.b.reshape(p.b.reduce("max", p.product, 1), {kRows, 1});
    Value* sums = p.b.reduce("sum", p.product, 0);
    p.b.store(p.c, p.b.binary("mul", p.b.binary("sub", p.product, peaks), sums));
  });
  CHECK(count_of(text, "{axis = 1}: tile<f32[128], vector 1, fragment_per_row>") == 1);
  CHECK(count_of(text, "{axis = 0}: tile<f32[64], vector 2, fragment_per_column>") == 1);
  CHECK(count_of(text, "relayout") == 0);
}

TEST_CASE("blocks of a product's columns lie as products, and are stored as such") {
  const std::string text = text_of([](const Parts& p) {
    const Values halves = p.b.split(p.product, 1);
    p.b.store(p.half, p.b.binary("mul", p.b.unary("sigmoid", halves[0]), halves[1]));
    p.b.store(p.c, p.b.cat(halves[1], halves[0], 1));
  });
  CHECK(count_of(text, "= part(") == 2);
  CHECK(count_of(text, "= cat(") == 1);
  CHECK(count_of(text, "tile<f32[128, 32], vector 2, fragment>") == 4);  // and two are computed
  CHECK(count_of(text, "vector 4") == 0);
}

TEST_CASE("a product's rows are no block of registers") {
  const std::string text = text_of([](const Parts& p) {
    Value* first = p.b.split(p.product, 0)[0];
    p.b.store(p.b.slice(p.c, {Index::ds(std::int64_t{0}, kRows / 2), Index::all()}), first);
  });
  CHECK(count_of(text, "tile<f32[64, 64], vector 4>") == 1);
}

TEST_CASE("lanes that share a row divide the threads of three warpgroups") {
  const std::string text = text_of(
      [](const Parts& p) {
        Value* sum = p.b.reduce("sum", p.b.reduce("sum", p.b.load(p.row), 1));
        p.b.store(p.c, p.b.binary("add", p.product, sum));
      },
      192);
  CHECK(count_of(text, "tile<f32[1, 4096], vector 4, rows 128>") == 1);
}

TEST_CASE("which parts rename registers") {
  const auto renames = [](const std::string& op, const std::string& result) {
    const Program program = program_of("  tensor %x: f32[64, 64]\n  scalar %s: f32",
                                       "%a = full(%s) {shape = [64, 64]}: tile<f32[64, 64]>\n"
                                       "%b = " +
                                           op + ": tile<f32" + result + ">\n");
    return renames_fragments(*program.body.statements.back());
  };
  CHECK(renames("part(%a) {shape = [64, 32], start = [0, 8]}", "[64, 32]"));
  CHECK(!renames("part(%a) {shape = [64, 32], start = [0, 4]}", "[64, 32]"));
  CHECK(!renames("part(%a) {shape = [64, 12], start = [0, 8]}", "[64, 12]"));
  CHECK(!renames("part(%a) {shape = [32, 64], start = [0, 0]}", "[32, 64]"));
  CHECK(renames("cat(%a, %a) {axis = 1}", "[64, 128]"));
  CHECK(!renames("cat(%a, %a) {axis = 0}", "[128, 64]"));
}

}  // namespace tilewire

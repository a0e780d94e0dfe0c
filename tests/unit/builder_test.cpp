#include "compiler/frontend/builder.h"

#include <string>

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

using namespace tilewire;

namespace {

Builder make_builder(std::string_view target = "cpu:world=2") {
  Builder b("program", "program.py", Target::parse(target));
  b.set_location(7, 5);
  return b;
}

/// The message of the UserError that `call` throws; empty where it throws none.
template <typename Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const UserError& error) {
    CHECK(error.location().line == 7);
    return error.message();
  }
  return {};
}

}  // namespace

TEST_CASE("literals take the dtype of what they meet") {
  Builder b = make_builder();
  Value* half = b.zeros({4}, DType::kBF16);
  Value* count = b.zeros({4}, DType::kI32);
  CHECK(b.binary("mul", half, 2.5)->type.dtype == DType::kBF16);
  CHECK(b.binary("mul", half, std::int64_t{2})->type.dtype == DType::kBF16);
  CHECK(b.binary("add", count, std::int64_t{1})->type.dtype == DType::kI32);
  CHECK(b.binary("add", count, 0.5)->type.dtype == DType::kF32);
  CHECK(b.binary("div", count, std::int64_t{2})->type.dtype == DType::kF32);
  CHECK(b.binary("lt", count, std::int64_t{2})->type == Type::tile(DType::kBool, {4}));
  CHECK(message_of([&] { b.binary("add", b.zeros({4}, DType::kI8), std::int64_t{300}); }) ==
        "300 doesn't fit i8, which holds -128 to 127: cast to a wider dtype first");
}

TEST_CASE("tiles broadcast from the right, scalars everywhere") {
  Builder b = make_builder();
  Value* row = b.zeros({1, 8}, DType::kF32);
  Value* column = b.zeros({4, 1}, DType::kF32);
  Value* vector = b.zeros({8}, DType::kBF16);
  CHECK(b.binary("add", row, column)->type == Type::tile(DType::kF32, {4, 8}));
  CHECK(b.binary("add", column, vector)->type == Type::tile(DType::kF32, {4, 8}));
  CHECK(b.where(b.binary("lt", row, 0.0), column, 1.0)->type == Type::tile(DType::kF32, {4, 8}));
  CHECK(message_of([&] { b.binary("add", vector, b.zeros({3}, DType::kF32)); }) ==
        "add: shapes [8] and [3] don't broadcast: extents must be equal or 1, from the right");
}

TEST_CASE("a loop variable keeps its entry type") {
  Builder b = make_builder();
  Value* start = b.zeros({8}, DType::kBF16);
  Value* wide = b.zeros({8}, DType::kF32);
  const Values results =
      b.for_range(std::int64_t{0}, std::int64_t{3}, std::int64_t{1}, {start},
                  [&](Value*, const Values& carried) {
                    return std::vector<Operand>{b.binary("add", carried[0], wide)};
                  });
  CHECK(results.at(0)->type == start->type);
  CHECK(message_of([&] {
          b.for_ranks({start}, [&](Value*, const Values&) {
            return std::vector<Operand>{b.zeros({9}, DType::kBF16)};
          });
        }) ==
        "a carried value enters this loop as tile<bf16[8]> and ends it as tile<bf16[9]>: a loop's "
        "variables keep their type, so let it begin as a tile of that shape and dtype, like "
        "tw.zeros(…)");
  const auto carry = [&b](Operand initial, Operand next) {
    return message_of([&] {
      b.for_ranks({initial}, [&](Value*, const Values&) { return std::vector<Operand>{next}; });
    });
  };
  CHECK(carry(std::int64_t{0}, 1.5) ==
        "a carried value enters this loop as i64 and ends it as f32: a loop's variables keep their "
        "type, so let it begin as a float, like 0.0");
  CHECK(carry(false, std::int64_t{2}) ==
        "a carried value enters this loop as bool and ends it as i64: a loop's variables keep "
        "their type, so let it begin as an integer, like 0");
}

TEST_CASE("branches meet in a common type") {
  Builder b = make_builder();
  Value* condition = b.binary("lt", b.rank(), std::int64_t{1});
  const Values results = b.if_(
      condition, [&] { return std::vector<Operand>{b.zeros({8}, DType::kBF16)}; },
      [&] { return std::vector<Operand>{1.5}; });
  CHECK(results.at(0)->type == Type::tile(DType::kBF16, {8}));
  CHECK(message_of([&] {
          b.begin_if(b.zeros({8}, DType::kBool));
        }).starts_with("the condition of an if is tile<bool[8]>"));
  b.finish();
}

TEST_CASE("a while loop in open and in closed form") {
  const auto closed = [](Builder& b) {
    return b.while_(
        {std::int64_t{0}, 1.0},
        [&](const Values& carried) { return b.binary("lt", carried[0], std::int64_t{5}); },
        [&](const Values& carried) -> std::vector<Operand> {
          return {b.binary("add", carried[0], std::int64_t{1}), carried[0]};
        });
  };
  Builder b = make_builder();
  const Values results = closed(b);
  CHECK(results[0]->type == Type::scalar(DType::kI64));
  CHECK(results[1]->type == Type::scalar(DType::kF32));
  const std::string text = print(b.finish());

  Builder open = make_builder();
  const Values tested = open.begin_while({std::int64_t{0}, 1.0});
  const Values carried = open.begin_do(open.binary("lt", tested[0], std::int64_t{5}));
  open.end_while({open.binary("add", carried[0], std::int64_t{1}), carried[0]});
  CHECK(print(open.finish()) == text);
}

TEST_CASE("a while loop is checked") {
  CHECK(message_of([] {
          Builder b = make_builder();
          b.begin_while({});
          b.begin_do(b.zeros({8}, DType::kBool));
        }) ==
        "the condition of a while is tile<bool[8]>; it takes a bool scalar: reduce it with tw.max "
        "or tw.sum");
  CHECK(message_of([] {
          Builder b = make_builder();
          b.begin_do(b.constant(true, DType::kBool));
        }) == "begin_do without begin_while");
  CHECK(message_of([] {
          Builder b = make_builder();
          b.begin_while({});
          b.end_while({});
        }) == "end_while without begin_do");
  CHECK(message_of([] {
          Builder b = make_builder();
          b.begin_while({std::int64_t{0}});
          b.begin_do(b.constant(true, DType::kBool));
          b.end_while({0.5});
        }) ==
        "a carried value enters this loop as i64 and ends it as f32: a loop's variables keep their "
        "type, so let it begin as a float, like 0.0");
}

TEST_CASE("a branch that returned takes the types of the other") {
  Builder b = make_builder();
  b.begin_if(b.constant(true, DType::kBool));
  b.return_();
  b.begin_else({});
  Value* tile = b.zeros({8}, DType::kBF16);
  const Values results = b.end_if({}, {tile, std::int64_t{3}});
  CHECK(results[0]->type == tile->type);
  CHECK(results[1]->type == Type::scalar(DType::kI64));
  b.for_range(std::int64_t{0}, std::int64_t{4}, std::int64_t{1}, {results[0]},
              [&](Value*, const Values&) -> std::vector<Operand> {
                b.return_();
                return {};
              });
  CHECK_NOTHROW(b.finish());
}

TEST_CASE("views are sliced as in Python") {
  Builder b = make_builder();
  b.constant_parameter("H", std::int64_t{64});
  Value* x = b.window("x", DType::kF16, {{kDynamic, "T"}, {kDynamic, "H"}});
  CHECK(x->type == Type::view(DType::kF16, {kDynamic, 64}, Memory::kWindow));
  CHECK(b.extent(x, 0) == b.dimension("T"));
  Value* row = b.slice(b.at(x, std::int64_t{1}), {Index::at(std::int64_t{-1})});
  CHECK(row->type.shape == std::vector<std::int64_t>{64});
  CHECK(b.load(row)->type == Type::tile(DType::kF16, {64}));
  Value* part =
      b.slice(x, {Index::ds(std::int64_t{0}, 4), Index::range(std::int64_t{8}, std::int64_t{24})});
  CHECK(part->type.shape == std::vector<std::int64_t>{4, 16});
  CHECK(message_of([&] {
          b.load(x);
        }).starts_with("load: dimension 0 of window<f16[?, 64]> is known only at run time"));
  CHECK(message_of([&] { b.slice(x, std::vector<Index>(3)); }) ==
        "3 indices into window<f16[?, 64]> of rank 2");
  CHECK(message_of([&] { b.binary("add", x, 1.0); }) ==
        "window<f16[?, 64]> is a place in memory, not a number: read it with tw.load first");
  b.store(part, 1.0);
  b.finish();
}

TEST_CASE("signatures are checked") {
  Builder b = make_builder();
  b.tensor("a", DType::kF32, {{kDynamic, "N"}});
  CHECK(message_of([&] { b.tensor("a", DType::kF32, {{4, ""}}); }) ==
        "two parameters are named 'a'");
  CHECK(message_of([&] { b.tensor("s", DType::kF32, {}); }) ==
        "'s' has rank 0; tensors and windows have rank 1 to 8");
  CHECK(message_of([&] { b.dimension("M"); }) == "no parameter has a run-time dimension 'M'");
  CHECK(message_of([&] {
          b.at(b.tensor("c", DType::kF32, {{4, ""}}), std::int64_t{0});
        }).starts_with("at: a tensor is this rank's own memory"));
  const Program program = b.finish();
  CHECK(program.body.arguments.size() == 3);
  CHECK(program.facts.contiguous == std::vector<bool>{false, false});
}

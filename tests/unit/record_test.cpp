#include "compiler/frontend/record.h"

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

const RecordType& row() {
  static const RecordType record(
      {{"q", DType::kE4M3, {128}}, {"scale", DType::kF32, {1}}, {"source", DType::kI32, {}}});
  return record;
}

}  // namespace

TEST_CASE("fields of a record lie at multiples of their alignment") {
  CHECK(row().offset(0) == 0);
  CHECK(row().offset(1) == 128);
  CHECK(row().offset(2) == 132);
  CHECK(row().num_bytes() == 144);  // rounded up to the alignment of q
  const RecordType mixed({{"flag", DType::kU8, {}},
                          {"value", DType::kF64, {}},
                          {"half", DType::kBF16, {3}},
                          {"matrix", DType::kF32, {2, 4}}});
  CHECK(mixed.offset(1) == 8);
  CHECK(mixed.offset(2) == 16);
  CHECK(mixed.offset(3) == 32);
  CHECK(mixed.alignment() == 16);
  CHECK(mixed.num_bytes() == 64);
  CHECK(RecordType({{"x", DType::kU8, {3}}}).num_bytes() == 3);
}

TEST_CASE("a field of a view of bytes has the other dimensions and the field's") {
  Builder builder("f", "f.py", Target::parse("cpu"));
  Value* rows = builder.window("rows", DType::kU8, {{kDynamic, "N"}, {row().num_bytes(), {}}});
  const Type type = row().view(builder, rows, "q")->type;
  CHECK(type.to_string() == "window<e4m3[?, 128]>");
  CHECK(row().view(builder, rows, "source")->type.to_string() == "window<i32[?]>");
  CHECK_THROWS_AS(row().view(builder, rows, "weight"), UserError);
}

TEST_CASE("records that can't be are refused") {
  CHECK_THROWS_AS(RecordType({}), UserError);
  CHECK_THROWS_AS(RecordType({{"x", DType::kF32, {0}}}), UserError);
  CHECK_THROWS_AS(RecordType({{"x", DType::kF32, {}}, {"x", DType::kI32, {}}}), UserError);
}

}  // namespace tilewire

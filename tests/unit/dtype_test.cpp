#include "compiler/ir/dtype.h"

#include "tests/catch.h"

using namespace tilewire;

TEST_CASE("every dtype's name reads back as itself") {
  for (const DType dtype : all_dtypes()) CHECK(dtype_from_name(name_of(dtype)) == dtype);
  CHECK_FALSE(dtype_from_name("float32").has_value());
}

TEST_CASE("the common dtype is symmetric, and a dtype with itself is itself unless it has 8 bits") {
  for (const DType a : all_dtypes()) {
    for (const DType b : all_dtypes()) CHECK(common_dtype(a, b) == common_dtype(b, a));
    CHECK(common_dtype(a, a) == (is_fp8(a) ? DType::kF32 : a));
    CHECK(is_fp8(a) == (a == DType::kE4M3 || a == DType::kE5M2));
  }
}

TEST_CASE("widening as the language documents it") {
  struct Row {
    DType a, b, common;
  };
  const Row rows[] = {
      {DType::kBF16, DType::kF32, DType::kF32},  {DType::kBF16, DType::kF16, DType::kF32},
      {DType::kF32, DType::kF64, DType::kF64},   {DType::kE4M3, DType::kBF16, DType::kBF16},
      {DType::kE4M3, DType::kE5M2, DType::kF32}, {DType::kI64, DType::kBF16, DType::kBF16},
      {DType::kI32, DType::kE4M3, DType::kF32},  {DType::kI8, DType::kI64, DType::kI64},
      {DType::kU8, DType::kI8, DType::kI16},     {DType::kU32, DType::kI32, DType::kI64},
      {DType::kU64, DType::kI64, DType::kI64},   {DType::kU8, DType::kU32, DType::kU32},
      {DType::kBool, DType::kI32, DType::kI32},  {DType::kBool, DType::kBF16, DType::kBF16},
  };
  for (const Row& row : rows) {
    INFO(name_of(row.a) << " with " << name_of(row.b));
    CHECK(common_dtype(row.a, row.b) == row.common);
  }
}

#include "compiler/passes/fold.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "compiler/passes/rewrite.h"
#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

std::string literal(const std::string& dtype, const std::string& value) {
  return "constant() {dtype = " + dtype + ", value = " + value + "}\n";
}

/// What an op over constants of one dtype folds to; `-` where it stays.
std::string folded(const std::string& op, const std::string& dtype, const std::string& a,
                   const std::string& b = "", const std::string& attributes = "") {
  const std::string second = b.empty() ? "" : "%b = " + literal(dtype, b);
  const Program program =
      program_of("", "%a = " + literal(dtype, a) + second + "%r = " + op + "(%a" +
                         (b.empty() ? "" : ", %b") + ") " + attributes + "\n");
  const std::optional<Attribute> value = fold(*program.body.statements.back());
  return value ? to_string(*value) : "-";
}

std::string cast(const std::string& from, const std::string& value, const std::string& to) {
  return folded("cast", from, value, "", "{dtype = " + to + "}");
}

}  // namespace

TEST_CASE("integers fold with wrapping") {
  CHECK(folded("add", "i8", "127", "1") == "-128");
  CHECK(folded("sub", "i8", "-128", "1") == "127");
  CHECK(folded("mul", "i32", "65536", "65536") == "0");
  CHECK(folded("add", "u8", "255", "1") == "0");
  CHECK(folded("sub", "u16", "0", "1") == "65535");
  CHECK(folded("add", "i64", "9223372036854775807", "1") == "-9223372036854775808");
  CHECK(folded("mul", "u64", "-1", "-1") == "1");
  CHECK(folded("neg", "i8", "-128") == "-128");
  CHECK(folded("neg", "u8", "1") == "255");
  CHECK(folded("abs", "i16", "-5") == "5");
  CHECK(folded("abs", "u8", "200") == "200");
}

TEST_CASE("integer division and modulo round down, as in Python") {
  CHECK(folded("floordiv", "i32", "7", "2") == "3");
  CHECK(folded("floordiv", "i32", "-7", "2") == "-4");
  CHECK(folded("floordiv", "i32", "7", "-2") == "-4");
  CHECK(folded("floordiv", "i32", "-7", "-2") == "3");
  CHECK(folded("floordiv", "i32", "-8", "2") == "-4");
  CHECK(folded("mod", "i32", "7", "3") == "1");
  CHECK(folded("mod", "i32", "-7", "3") == "2");
  CHECK(folded("mod", "i32", "7", "-3") == "-2");
  CHECK(folded("mod", "i32", "-7", "-3") == "-1");
  CHECK(folded("floordiv", "i32", "7", "0") == "0");
  CHECK(folded("mod", "i32", "7", "0") == "0");
  CHECK(folded("floordiv", "i64", "-9223372036854775808", "-1") == "-9223372036854775808");
  CHECK(folded("mod", "i64", "-9223372036854775808", "-1") == "0");
  CHECK(folded("floordiv", "i8", "-128", "-1") == "-128");
  CHECK(folded("floordiv", "u64", "-1", "2") == "9223372036854775807");
  CHECK(folded("mod", "u64", "-1", "10") == "5");
}

TEST_CASE("integer comparisons and bits go by the dtype's sign") {
  CHECK(folded("lt", "i64", "-1", "1") == "true");
  CHECK(folded("lt", "u64", "-1", "1") == "false");
  CHECK(folded("gt", "u64", "-1", "1") == "true");
  CHECK(folded("le", "i32", "2", "2") == "true");
  CHECK(folded("ge", "i32", "1", "2") == "false");
  CHECK(folded("eq", "i32", "2", "2") == "true");
  CHECK(folded("ne", "i32", "2", "2") == "false");
  CHECK(folded("minimum", "i64", "-1", "1") == "-1");
  CHECK(folded("minimum", "u64", "-1", "1") == "1");
  CHECK(folded("maximum", "i64", "-1", "1") == "1");
  CHECK(folded("and", "i32", "12", "10") == "8");
  CHECK(folded("or", "i32", "12", "10") == "14");
  CHECK(folded("xor", "i8", "-1", "1") == "-2");
  CHECK(folded("not", "u8", "1") == "254");
  CHECK(folded("not", "i8", "1") == "-2");
}

TEST_CASE("bools fold") {
  CHECK(folded("and", "bool", "true", "false") == "false");
  CHECK(folded("or", "bool", "true", "false") == "true");
  CHECK(folded("xor", "bool", "true", "true") == "false");
  CHECK(folded("not", "bool", "true") == "false");
  CHECK(folded("eq", "bool", "false", "false") == "true");
  CHECK(folded("lt", "bool", "false", "true") == "true");
  CHECK(folded("ge", "bool", "false", "true") == "false");
}

TEST_CASE("floats fold in the precision that they are computed in") {
  CHECK(folded("add", "f64", "0.1", "0.2") == "0.30000000000000004");
  CHECK(folded("add", "f32", "16777216.0", "1.0") == "16777216.0");
  CHECK(folded("div", "f32", "1.0", "3.0") == "0.3333333432674408");
  CHECK(folded("add", "bf16", "256.0", "1.0") == "256.0");
  CHECK(folded("add", "bf16", "256.0", "3.0") == "260.0");
  CHECK(folded("mul", "f16", "256.0", "256.0") == "inf");
  CHECK(folded("sub", "f32", "1.0", "1.0") == "0.0");
  CHECK(folded("div", "f64", "1.0", "0.0") == "inf");
  CHECK(folded("neg", "f32", "0.0") == "-0.0");
  CHECK(folded("abs", "f32", "-2.5") == "2.5");
  CHECK(folded("floor", "f32", "-2.5") == "-3.0");
  CHECK(folded("ceil", "f32", "-2.5") == "-2.0");
  CHECK(folded("minimum", "f32", "1.0", "nan") == "nan");
  CHECK(folded("maximum", "f32", "nan", "1.0") == "nan");
  CHECK(folded("maximum", "f32", "-1.0", "2.0") == "2.0");
  CHECK(folded("minimum", "f32", "0.0", "-0.0") == "-0.0");
  CHECK(folded("maximum", "f32", "-0.0", "0.0") == "0.0");
  CHECK(folded("eq", "f32", "nan", "nan") == "false");
  CHECK(folded("ne", "f32", "nan", "nan") == "true");
  CHECK(folded("lt", "f32", "-inf", "1.0") == "true");
}

TEST_CASE("what targets may compute differently stays") {
  for (const char* op : {"exp", "exp2", "log", "log2", "rsqrt", "tanh", "erf", "sigmoid"}) {
    CAPTURE(op);
    CHECK(folded(op, "f32", "0.5") == "-");
  }
  CHECK(folded("floordiv", "f32", "1.0", "0.1") == "-");
  CHECK(folded("mod", "f32", "1.0", "0.1") == "-");
  CHECK(cast("e4m3", "1.0", "f32") == "-");
  CHECK(cast("f32", "1.0", "e5m2") == "-");
}

TEST_CASE("casts fold by the cast op's rules") {
  CHECK(cast("i32", "300", "u8") == "44");
  CHECK(cast("i32", "-1", "u64") == "-1");
  CHECK(cast("u8", "255", "i8") == "-1");
  CHECK(cast("i32", "5", "bool") == "true");
  CHECK(cast("bool", "true", "i64") == "1");
  CHECK(cast("bool", "true", "bf16") == "1.0");
  CHECK(cast("f32", "2.9", "i32") == "2");
  CHECK(cast("f32", "-2.9", "i32") == "-2");
  CHECK(cast("f32", "-2.9", "u32") == "0");
  CHECK(cast("f32", "3e9", "i32") == "2147483647");
  CHECK(cast("f32", "-3e9", "i32") == "-2147483648");
  CHECK(cast("f32", "1e30", "i64") == "9223372036854775807");
  CHECK(cast("f64", "-1e30", "i64") == "-9223372036854775808");
  CHECK(cast("f32", "1e30", "u64") == "-1");
  CHECK(cast("f32", "nan", "i32") == "0");
  CHECK(cast("f32", "nan", "bool") == "true");
  CHECK(cast("f32", "0.0", "bool") == "false");
  CHECK(cast("f64", "0.1", "f32") == "0.10000000149011612");
  CHECK(cast("f32", "1.0", "bf16") == "1.0");
  CHECK(cast("i64", "16777217", "f32") == "16777216.0");
  CHECK(cast("u64", "-1", "f64") == "1.8446744073709552e+19");
  CHECK(cast("i64", "16777217", "bf16") == "-");  // directly and through f32 may differ
}

TEST_CASE(
    "rounding to 16 bits agrees with arithmetic on the bits, for every bf16 and its midpoints") {
  for (std::uint32_t high = 0; high < 0x7f80; ++high) {
    for (const std::uint32_t low : {0U, 1U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      const std::uint32_t from = high << 16 | low;
      const std::uint32_t to = (from + 0x7fffU + (high & 1U)) >> 16 << 16;
      float value = 0;
      float expected = 0;
      std::memcpy(&value, &from, 4);
      std::memcpy(&expected, &to, 4);
      if (round_to(value, DType::kBF16) != expected) FAIL(value);
      if (round_to(-value, DType::kBF16) != -expected) FAIL(-value);
    }
  }
  CHECK(round_to(65519.0, DType::kF16) == 65504.0);
  CHECK(std::isinf(round_to(65520.0, DType::kF16)));
  CHECK(round_to(0x1p-24, DType::kF16) == 0x1p-24);
  CHECK(round_to(0x1p-25, DType::kF16) == 0.0);
  CHECK(round_to(0x1.8p-25, DType::kF16) == 0x1p-24);
  CHECK(std::signbit(round_to(-0x1p-30, DType::kF16)));
}

TEST_CASE("integers wrap to their width") {
  CHECK(wrap(-1, DType::kU32) == 0xffffffffLL);
  CHECK(wrap(0x80000000LL, DType::kI32) == -0x80000000LL);
  CHECK(wrap(-1, DType::kU64) == -1);
}

}  // namespace tilewire

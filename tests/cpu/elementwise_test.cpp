#include <cmath>
#include <functional>

#include "tests/catch.h"
#include "tests/cpu/tile_program.h"

namespace tilewire {
namespace {

const std::vector<DType> kFloats = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

std::vector<DType> integers() {
  std::vector<DType> dtypes;
  for (const DType dtype : all_dtypes()) {
    if (is_integer(dtype)) dtypes.push_back(dtype);
  }
  return dtypes;
}

constexpr std::int64_t kCount = 333;  // no multiple of any vector width

/// Checks an op's tile form and, on the first elements, its scalar form.
void check_op(std::string_view op, DType dtype, int num_operands,
              const std::function<std::uint64_t(const Bits&)>& expected, DType result) {
  INFO(op << " on " << name_of(dtype));
  std::mt19937_64 random(7);
  TileProgram program;
  std::vector<Bits> elements;
  Values tiles;
  for (int i = 0; i < num_operands; ++i) {
    elements.push_back(random_elements(dtype, kCount, random));
    tiles.push_back(program.input(dtype, {kCount}, elements.back()));
  }
  program.output(program.builder.emit(op, tiles)->result());
  Values scalars;
  for (Value* tile : tiles) {
    scalars.push_back(
        program.builder.emit("extract", {tile, program.builder.constant(std::int64_t{5}, kIndex)})
            ->result());
  }
  program.output(program.builder.emit(op, scalars)->result());

  const std::vector<Bits> found = program.run();
  for (std::size_t i = 0; i < kCount; ++i) {
    Bits operands;
    for (const Bits& column : elements) operands.push_back(column[i]);
    const std::uint64_t wanted = expected(operands);
    INFO("element " << i << ": " << to_double(operands.front(), dtype) << ", "
                    << to_double(operands.back(), dtype) << " gave "
                    << to_double(found[0][i], result) << " instead of "
                    << to_double(wanted, result));
    REQUIRE(same_value(found[0][i], wanted, result));
    if (i == 5) REQUIRE(same_value(found[1][0], wanted, result));
  }
}

using Double = std::function<double(double, double)>;
using Float = std::function<float(float, float)>;

/// Narrow floats: computed in f32, then rounded.
void check_float_op(std::string_view op, int num_operands, const Float& in_f32,
                    const Double& in_f64) {
  for (const DType dtype : kFloats) {
    check_op(
        op, dtype, num_operands,
        [&](const Bits& x) {
          const double a = to_double(x.front(), dtype);
          const double b = to_double(x.back(), dtype);
          if (dtype == DType::kF64) return from_double(in_f64(a, b), dtype);
          return from_double(in_f32(static_cast<float>(a), static_cast<float>(b)), dtype);
        },
        dtype);
  }
}

void check_integer_op(std::string_view op, int num_operands,
                      const std::function<__int128(__int128, __int128)>& expected,
                      const std::vector<DType>& dtypes = integers()) {
  for (const DType dtype : dtypes) {
    check_op(
        op, dtype, num_operands,
        [&](const Bits& x) {
          return from_integer(expected(to_integer(x.front(), dtype), to_integer(x.back(), dtype)),
                              dtype);
        },
        dtype);
  }
}

template <typename T>
T python_mod(T a, T b) {
  if (b == 0) return NAN;
  const T remainder = std::fmod(a, b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

template <typename T>
T python_floordiv(T a, T b) {
  if (b == 0) return a / b;
  const T remainder = std::fmod(a, b);
  const T quotient = std::nearbyint((a - remainder) / b);
  return remainder != 0 && (remainder < 0) != (b < 0) ? quotient - 1 : quotient;
}

template <typename T>
T nan_wins(T a, T b, T chosen) {
  return std::isnan(a) || std::isnan(b) ? static_cast<T>(NAN) : chosen;
}

__int128 integer_floordiv(__int128 a, __int128 b) {
  if (b == 0) return 0;
  const __int128 quotient = a / b;
  return a % b != 0 && ((a % b < 0) != (b < 0)) ? quotient - 1 : quotient;
}

#define TILEWIRE_BOTH(expression)        \
  [](float a, float b) -> float {        \
    static_cast<void>(b);                \
    return expression;                   \
  },                                     \
      [](double a, double b) -> double { \
        static_cast<void>(b);            \
        return expression;               \
      }

TEST_CASE("arithmetic of floats", "[cpu]") {
  check_float_op("add", 2, TILEWIRE_BOTH(a + b));
  check_float_op("sub", 2, TILEWIRE_BOTH(a - b));
  check_float_op("mul", 2, TILEWIRE_BOTH(a * b));
  check_float_op("div", 2, TILEWIRE_BOTH(a / b));
  check_float_op("mod", 2, TILEWIRE_BOTH(python_mod(a, b)));
  check_float_op("floordiv", 2, TILEWIRE_BOTH(python_floordiv(a, b)));
  check_float_op("minimum", 2, TILEWIRE_BOTH(nan_wins(a, b, std::fmin(a, b))));
  check_float_op("maximum", 2, TILEWIRE_BOTH(nan_wins(a, b, std::fmax(a, b))));
}

TEST_CASE("mathematics of floats", "[cpu]") {
  check_float_op("neg", 1, TILEWIRE_BOTH(-a));
  check_float_op("abs", 1, TILEWIRE_BOTH(std::fabs(a)));
  check_float_op("floor", 1, TILEWIRE_BOTH(std::floor(a)));
  check_float_op("ceil", 1, TILEWIRE_BOTH(std::ceil(a)));
  check_float_op("exp", 1, TILEWIRE_BOTH(std::exp(a)));
  check_float_op("exp2", 1, TILEWIRE_BOTH(std::exp2(a)));
  check_float_op("log", 1, TILEWIRE_BOTH(std::log(a)));
  check_float_op("log2", 1, TILEWIRE_BOTH(std::log2(a)));
  check_float_op("sqrt", 1, TILEWIRE_BOTH(std::sqrt(a)));
  check_float_op("rsqrt", 1, TILEWIRE_BOTH(1 / std::sqrt(a)));
  check_float_op("tanh", 1, TILEWIRE_BOTH(std::tanh(a)));
  check_float_op("erf", 1, TILEWIRE_BOTH(std::erf(a)));
  check_float_op("sigmoid", 1, TILEWIRE_BOTH(1 / (1 + std::exp(-a))));
}

#undef TILEWIRE_BOTH

TEST_CASE("arithmetic of integers wraps around, floors, and never traps", "[cpu]") {
  check_integer_op("add", 2, [](auto a, auto b) { return a + b; });
  check_integer_op("sub", 2, [](auto a, auto b) { return a - b; });
  check_integer_op("mul", 2, [](auto a, auto b) {
    return static_cast<__int128>(static_cast<unsigned __int128>(a) *
                                 static_cast<unsigned __int128>(b));
  });
  check_integer_op("floordiv", 2, integer_floordiv);
  check_integer_op("mod", 2, [](auto a, auto b) {
    return b == 0 ? static_cast<__int128>(0) : a - integer_floordiv(a, b) * b;
  });
  check_integer_op("minimum", 2, [](auto a, auto b) { return a < b ? a : b; });
  check_integer_op("maximum", 2, [](auto a, auto b) { return a > b ? a : b; });
  check_integer_op("neg", 1, [](auto a, auto) { return -a; });
  check_integer_op("abs", 1, [](auto a, auto) { return a < 0 ? -a : a; });
}

TEST_CASE("bits of integers and bool", "[cpu]") {
  std::vector<DType> dtypes = integers();
  dtypes.push_back(DType::kBool);
  check_integer_op("and", 2, [](auto a, auto b) { return a & b; }, dtypes);
  check_integer_op("or", 2, [](auto a, auto b) { return a | b; }, dtypes);
  check_integer_op("xor", 2, [](auto a, auto b) { return a ^ b; }, dtypes);
  check_integer_op("not", 1, [](auto a, auto) { return ~a; });
  check_integer_op("not", 1, [](auto a, auto) { return static_cast<__int128>(a == 0); },
                   {DType::kBool});
}

TEST_CASE("comparisons", "[cpu]") {
  const auto check = [](std::string_view op, const auto& compare) {
    for (const DType dtype : all_dtypes()) {
      if (is_float(dtype) && num_bytes(dtype) == 1) continue;
      check_op(
          op, dtype, 2,
          [&](const Bits& x) -> std::uint64_t {
            if (is_float(dtype)) return compare(to_double(x[0], dtype), to_double(x[1], dtype));
            return compare(to_integer(x[0], dtype), to_integer(x[1], dtype));
          },
          DType::kBool);
    }
  };
  check("eq", [](auto a, auto b) { return a == b; });
  check("ne", [](auto a, auto b) { return a != b; });
  check("lt", [](auto a, auto b) { return a < b; });
  check("le", [](auto a, auto b) { return a <= b; });
  check("gt", [](auto a, auto b) { return a > b; });
  check("ge", [](auto a, auto b) { return a >= b; });
}

TEST_CASE("select takes tiles and scalars for each operand", "[cpu]") {
  std::mt19937_64 random(3);
  for (const DType dtype : all_dtypes()) {
    const Bits a = random_elements(dtype, kCount, random);
    const Bits b = random_elements(dtype, kCount, random);
    const Bits condition = random_elements(DType::kBool, kCount, random);
    TileProgram program;
    Value* tile_a = program.input(dtype, {kCount}, a);
    Value* tile_b = program.input(dtype, {kCount}, b);
    Value* tile_c = program.input(DType::kBool, {kCount}, condition);
    Value* zero = program.builder.constant(std::int64_t{0}, kIndex);
    Value* first_a = program.builder.emit("extract", {tile_a, zero})->result();
    Value* first_c = program.builder.emit("extract", {tile_c, zero})->result();
    program.output(program.builder.emit("select", {tile_c, tile_a, tile_b})->result());
    program.output(program.builder.emit("select", {tile_c, first_a, tile_b})->result());
    program.output(program.builder.emit("select", {first_c, tile_a, tile_b})->result());
    const auto found = program.run();
    for (std::size_t i = 0; i < kCount; ++i) {
      REQUIRE(same_value(found[0][i], condition[i] != 0 ? a[i] : b[i], dtype));
      REQUIRE(same_value(found[1][i], condition[i] != 0 ? a[0] : b[i], dtype));
      REQUIRE(same_value(found[2][i], condition[0] != 0 ? a[i] : b[i], dtype));
    }
  }
}

}  // namespace
}  // namespace tilewire

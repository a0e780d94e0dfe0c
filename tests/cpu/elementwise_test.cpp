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

using Equal = bool (*)(std::uint64_t, std::uint64_t, DType);

/// Results of at most two units in the last place of an f32 from each other, then rounded.
bool nearly_same(std::uint64_t a, std::uint64_t b, DType dtype) {
  if (same_value(a, b, dtype)) return true;
  if (dtype == DType::kF64) return false;
  const double x = to_double(a, dtype);
  const double y = to_double(b, dtype);
  if (std::signbit(x) != std::signbit(y)) return false;
  // Numbers of one sign are in the order of their bits, infinity too.
  return (a > b ? a - b : b - a) <= (dtype == DType::kF32 ? 2U : 1U);
}

/// Checks an op's tile form and, on the first elements, its scalar form.
void check_op(std::string_view op, DType dtype, int num_operands,
              const std::function<std::uint64_t(const Bits&)>& expected, DType result,
              Equal equal = same_value) {
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
    REQUIRE(equal(found[0][i], wanted, result));
    if (i == 5) REQUIRE(equal(found[1][0], wanted, result));
  }
}

using Double = std::function<double(double, double)>;
using Float = std::function<float(float, float)>;

/// Narrow floats: computed in f32, then rounded.
void check_float_op(std::string_view op, int num_operands, const Float& in_f32,
                    const Double& in_f64, Equal equal = same_value) {
  for (const DType dtype : kFloats) {
    check_op(
        op, dtype, num_operands,
        [&](const Bits& x) {
          const double a = to_double(x.front(), dtype);
          const double b = to_double(x.back(), dtype);
          if (dtype == DType::kF64) return from_double(in_f64(a, b), dtype);
          return from_double(in_f32(static_cast<float>(a), static_cast<float>(b)), dtype);
        },
        dtype, equal);
  }
}

/// A function of one operand that f32 approximates; exact is what f64 gives.
void check_function(std::string_view op, double (*exact)(double)) {
  const auto in_f32 = [exact](float a, float) { return static_cast<float>(exact(a)); };
  const auto in_f64 = [exact](double a, double) { return exact(a); };
  check_float_op(op, 1, in_f32, in_f64, nearly_same);
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
  check_function("exp", std::exp);
  check_function("exp2", std::exp2);
  check_function("log", std::log);
  check_function("log2", std::log2);
  check_float_op("sqrt", 1, TILEWIRE_BOTH(std::sqrt(a)));
  check_float_op("rsqrt", 1, TILEWIRE_BOTH(1 / std::sqrt(a)));
  check_function("tanh", std::tanh);
  check_function("erf", std::erf);
  check_function("sigmoid", [](double a) { return 1 / (1 + std::exp(-a)); });
  check_function("sin", std::sin);
  check_function("cos", std::cos);
  check_float_op("round", 1, TILEWIRE_BOTH(std::nearbyint(a)));
  check_float_op("trunc", 1, TILEWIRE_BOTH(std::trunc(a)));
  check_float_op("pow", 2, TILEWIRE_BOTH(std::pow(a, b)));
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

TEST_CASE("shifts and counts of bits", "[cpu]") {
  for (const DType dtype : integers()) {
    const int width = 8 * num_bytes(dtype);
    const auto is_within = [width](__int128 amount) { return amount >= 0 && amount < width; };
    const auto left = [&](__int128 a, __int128 b) {
      return is_within(b) ? static_cast<__int128>(static_cast<unsigned __int128>(a) << b)
                          : static_cast<__int128>(0);
    };
    const auto right = [&](__int128 a, __int128 b) { return is_within(b) ? a >> b : a >> 64; };
    check_integer_op("shift_left", 2, left, {dtype});
    check_integer_op("shift_right", 2, right, {dtype});
    const auto set_bits = [width](__int128 a, __int128) {
      int count = 0;
      for (int i = 0; i < width; ++i) count += static_cast<int>(a >> i & 1);
      return static_cast<__int128>(count);
    };
    const auto leading_zeros = [width](__int128 a, __int128) {
      int count = 0;
      while (count < width && (a >> (width - 1 - count) & 1) == 0) ++count;
      return static_cast<__int128>(count);
    };
    check_integer_op("popcount", 1, set_bits, {dtype});
    check_integer_op("clz", 1, leading_zeros, {dtype});
  }
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

#include <bit>
#include <cmath>

#include "tests/catch.h"
#include "tests/cpu/tile_program.h"

namespace tilewire {
namespace {

Bits cast_elements(const Bits& elements, DType from, DType to) {
  TileProgram program;
  const auto count = static_cast<std::int64_t>(elements.size());
  Value* x = program.input(from, {count}, elements);
  program.output(program.builder.emit("cast", {x}, {{"dtype", to}})->result());
  return program.run().front();
}

void check_cast(const Bits& elements, DType from, DType to) {
  INFO(name_of(from) << " to " << name_of(to));
  const Bits found = cast_elements(elements, from, to);
  std::size_t num_wrong = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::uint64_t expected = from_double(to_double(elements[i], from), to);
    const bool is_right = is_float(to) && std::isnan(to_double(expected, to))
                              ? std::isnan(to_double(found[i], to))
                              : found[i] == expected;
    if (!is_right && ++num_wrong <= 3) {
      FAIL_CHECK("element " << i << ": " << to_double(elements[i], from) << " became "
                            << to_double(found[i], to) << " instead of "
                            << to_double(expected, to));
    }
  }
  CHECK(num_wrong == 0);
}

Bits all_bits(DType dtype) {
  Bits bits(std::size_t{1} << (8 * num_bytes(dtype)));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = i;
  return bits;
}

TEST_CASE("every value of the 8 and 16-bit floats is read and written exactly", "[cpu]") {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kE4M3, DType::kE5M2}) {
    check_cast(all_bits(dtype), dtype, DType::kF32);
    check_cast(all_bits(dtype), dtype, DType::kF64);
    for (const DType other : {DType::kBF16, DType::kF16, DType::kE4M3, DType::kE5M2}) {
      if (other != dtype) check_cast(all_bits(dtype), dtype, other);
    }
  }
}

/// Every value, every midpoint between neighbours, and what lies next to both.
Bits around_values(DType dtype, DType wide) {
  Bits elements;
  const auto add = [&](double value) {
    const std::uint64_t bits = from_double(value, wide);
    for (const std::uint64_t neighbour : {bits - 1, bits, bits + 1}) elements.push_back(neighbour);
  };
  for (const std::uint64_t bits : all_bits(dtype)) {
    const double value = to_double(bits, dtype);
    const double next = to_double(bits + 1, dtype);
    if (!std::isfinite(value)) continue;
    add(value);
    if (std::isfinite(next)) add((value + next) / 2);
  }
  for (const double value : {65519.999, 65520.0, 448.0, 464.0, 480.0, 1e9, 3.4e38, 1e-45, 1e-40,
                             61440.0, 61439.99, HUGE_VAL, std::nan("")}) {
    add(value);
    add(-value);
  }
  return elements;
}

TEST_CASE("f32 and f64 round once, to nearest even", "[cpu]") {
  for (const DType dtype : {DType::kBF16, DType::kF16, DType::kE4M3, DType::kE5M2}) {
    check_cast(around_values(dtype, DType::kF32), DType::kF32, dtype);
    check_cast(around_values(dtype, DType::kF64), DType::kF64, dtype);
  }
}

TEST_CASE("casts between integers and floats", "[cpu]") {
  std::mt19937_64 random(1);
  for (const DType from : all_dtypes()) {
    if (is_float(from)) continue;
    const Bits elements = random_elements(from, 501, random);
    for (const DType to : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kE5M2}) {
      // By way of double, as to_double is exact up to 53 bits: large ones are rounded twice.
      if (num_bytes(from) < 8 || is_float(to)) {
        const Bits found = cast_elements(elements, from, to);
        for (std::size_t i = 0; i < elements.size(); ++i) {
          const double exact = to_double(elements[i], from);
          const double error =
              std::fabs(to_double(found[i], to) - to_double(from_double(exact, to), to));
          const bool is_equal = found[i] == from_double(exact, to);
          REQUIRE((is_equal || (num_bytes(from) == 8 && error <= std::fabs(exact) * 0x1p-24)));
        }
      }
    }
    for (const DType to : all_dtypes()) {
      if (is_float(to)) continue;
      const Bits found = cast_elements(elements, from, to);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        REQUIRE(found[i] == from_integer(to_integer(elements[i], from), to));
      }
    }
  }
}

TEST_CASE("floats to integers go towards zero, saturate, and NaN gives 0", "[cpu]") {
  std::mt19937_64 random(2);
  for (const DType from : {DType::kF32, DType::kF64, DType::kBF16, DType::kF16, DType::kE4M3}) {
    const Bits elements = random_elements(from, 501, random);
    for (const DType to : all_dtypes()) {
      if (is_float(to)) continue;
      const Bits found = cast_elements(elements, from, to);
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const double value = to_double(elements[i], from);
        std::uint64_t expected = 0;
        if (to == DType::kBool) {
          expected = value != 0.0 ? 1 : 0;
        } else if (!std::isnan(value)) {
          const int num_bits = 8 * num_bytes(to) - (is_signed(to) ? 1 : 0);
          const __int128 largest = (static_cast<__int128>(1) << num_bits) - 1;
          const __int128 smallest = is_signed(to) ? -largest - 1 : 0;
          const double limited = std::fmin(std::fmax(value, -0x1p100), 0x1p100);
          const auto whole = static_cast<__int128>(limited);
          expected = from_integer(std::min(std::max(whole, smallest), largest), to);
        }
        REQUIRE(found[i] == expected);
      }
    }
  }
}

}  // namespace
}  // namespace tilewire

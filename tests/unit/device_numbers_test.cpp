#include "tests/unit/cta_emulator.h"
// Behind what they need of CUDA.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "templates/tilewire/bits.cuh"
#include "templates/tilewire/random.cuh"
#include "templates/tilewire/rounding.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// All positive numbers of a format, by its definition, ascending; 0 first.
std::vector<double> numbers_of(int mantissa_bits, int bias, int count) {
  std::vector<double> numbers;
  for (int code = 0; code < count; ++code) {
    const int exponent = code >> mantissa_bits;
    const double fraction = std::ldexp(code & ((1 << mantissa_bits) - 1), -mantissa_bits);
    numbers.push_back(exponent == 0 ? std::ldexp(fraction, 1 - bias)
                                    : std::ldexp(1 + fraction, exponent - bias));
  }
  return numbers;
}

struct Expected {
  const std::vector<double>& numbers;
  double beyond;  ///< what stands for too large numbers: infinity, or NaN
  bool saturates;

  /// By search among the format's numbers.
  double of(double x, Rounding rounding) const {
    const double magnitude = std::fabs(x);
    const bool leads_out = rounding == Rounding::kNearest || (rounding == Rounding::kUp && x > 0) ||
                           (rounding == Rounding::kDown && x < 0);
    const double largest = numbers.back();
    const auto above = std::lower_bound(numbers.begin(), numbers.end(), magnitude);
    if (above == numbers.end()) {
      const double step = largest - numbers[numbers.size() - 2];
      const double middle = largest + step / 2;
      const bool is_even = numbers.size() % 2 == 1;
      const bool rounds_back = rounding == Rounding::kNearest &&
                               (magnitude < middle || (magnitude == middle && is_even));
      const bool stays = saturates || rounds_back || (!leads_out && std::isfinite(x));
      return std::copysign(stays ? largest : beyond, x);
    }
    if (*above == magnitude) return x;
    const double below = *(above - 1);
    if (rounding != Rounding::kNearest) return std::copysign(leads_out ? *above : below, x);
    const double middle = (below + *above) / 2;
    const bool is_even = (above - numbers.begin()) % 2 == 0;
    return std::copysign(magnitude > middle || (magnitude == middle && is_even) ? *above : below,
                         x);
  }
};

std::vector<float> inputs(const std::vector<double>& numbers) {
  std::vector<float> values = {0.0F, std::numeric_limits<float>::max(), 1e-45F, HUGE_VALF};
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    const auto middle = static_cast<float>((numbers[i - 1] + numbers[i]) / 2);
    for (const float x : {static_cast<float>(numbers[i]), middle}) {
      values.insert(values.end(), {x, std::nextafter(x, 0.0F), std::nextafter(x, HUGE_VALF)});
    }
  }
  const double largest = numbers.back();
  const double step = largest - numbers[numbers.size() - 2];
  for (const double x : {largest + step / 4, largest + step / 2, largest + step}) {
    values.push_back(static_cast<float>(x));
  }
  return values;
}

template <typename F, Rounding kRounding, bool kSaturates>
void check(const std::vector<double>& numbers, double beyond) {
  const Expected expected{numbers, beyond, kSaturates};
  for (const float x : inputs(numbers)) {
    for (const float value : {x, -x}) {
      const auto found = static_cast<double>(round_float<F, kRounding, kSaturates>(value));
      const double wanted = expected.of(static_cast<double>(value), kRounding);
      INFO(value << " became " << found << " instead of " << wanted);
      REQUIRE((found == wanted || (std::isnan(found) && std::isnan(wanted))));
      REQUIRE(std::signbit(found) == std::signbit(static_cast<double>(value)));
    }
  }
  REQUIRE(std::isnan(round_float<F, kRounding, kSaturates>(NAN)));
}

template <typename F>
void check_format(int mantissa_bits, int bias, int count, double beyond) {
  const std::vector<double> numbers = numbers_of(mantissa_bits, bias, count);
  check<F, Rounding::kNearest, false>(numbers, beyond);
  check<F, Rounding::kNearest, true>(numbers, beyond);
  check<F, Rounding::kTowardZero, false>(numbers, beyond);
  check<F, Rounding::kUp, false>(numbers, beyond);
  check<F, Rounding::kUp, true>(numbers, beyond);
  check<F, Rounding::kDown, false>(numbers, beyond);
  check<F, Rounding::kDown, true>(numbers, beyond);
}

}  // namespace

TEST_CASE("casts in a direction: every number, every boundary, both signs") {
  check_format<e4m3>(3, 7, 0x7f, std::nan(""));
  check_format<e5m2>(2, 15, 0x7c, kInfinity);
  check_format<f16>(10, 15, 0x7c00, kInfinity);
}

TEST_CASE("casts to bf16 keep or step the upper half of an f32") {
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const float x = float_of_bits(random() & 0x7fffffffU);
    if (!(x <= std::numeric_limits<float>::max())) continue;
    const uint32_t cut = bits_of_float(x) & 0xffff0000U;
    const uint32_t next = bits_of_float(x) == cut ? cut : cut + 0x10000U;
    REQUIRE(bits_of_float(round_float<bf16, Rounding::kTowardZero, false>(x)) == cut);
    REQUIRE(bits_of_float(round_float<bf16, Rounding::kDown, false>(x)) == cut);
    REQUIRE(bits_of_float(round_float<bf16, Rounding::kUp, false>(x)) == next);
    REQUIRE(round_float<bf16, Rounding::kDown, false>(-x) == -float_of_bits(next));
  }
  CHECK(std::isinf(round_float<bf16, Rounding::kNearest, false>(3.4e38F)));
  CHECK(round_float<bf16, Rounding::kNearest, true>(3.4e38F) == float_of_bits(0x7f7f0000U));
}

TEST_CASE("shifts by more than the width, by negative amounts") {
  CHECK(ShiftLeft::of(int8_t{-3}, int8_t{7}) == int8_t{-128});
  CHECK(ShiftLeft::of(int8_t{1}, int8_t{8}) == 0);
  CHECK(ShiftLeft::of(1, -1) == 0);
  CHECK(ShiftLeft::of(uint64_t{1}, uint64_t{63}) == uint64_t{1} << 63);
  CHECK(ShiftRight::of(int16_t{-300}, int16_t{4}) == -19);
  CHECK(ShiftRight::of(int16_t{-300}, int16_t{99}) == -1);
  CHECK(ShiftRight::of(300, 32) == 0);
  CHECK(ShiftRight::of(uint8_t{200}, uint8_t{3}) == 25);
  CHECK(ShiftRight::of(uint8_t{200}, uint8_t{8}) == 0);
}

TEST_CASE("counts of bits are of the dtype's width") {
  CHECK(PopulationCount::of(int8_t{-1}) == 8);
  CHECK(PopulationCount::of(int64_t{-1}) == 64);
  CHECK(LeadingZeros::of(uint8_t{1}) == 7);
  CHECK(LeadingZeros::of(int16_t{0}) == 16);
  CHECK(LeadingZeros::of(int64_t{-1}) == 0);
}

TEST_CASE("bits under another type") {
  CHECK(bitcast<uint32_t>(1.0F) == 0x3f800000U);
  CHECK(bitcast<double>(uint64_t{0x3ff0000000000000}) == 1.0);
  CHECK(bitcast<uint16_t>(bf16{0x7f81}) == 0x7f81);
}

TEST_CASE("Philox: known answers of its authors") {
  const uint64_t ones = ~uint64_t{0};
  CHECK(Philox<0>::of(0, 0, 0) == 0x6627e8d5U);
  CHECK(Philox<3>::of(0, 0, 0) == 0x9b00dbd8U);
  CHECK(Philox<1>::of(ones, ones, ones) == 0x41c83b0eU);
  CHECK(Philox<2>::of(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e) == 0x5001e420U);
}

}  // namespace tilewire::device

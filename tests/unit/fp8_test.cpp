#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "templates/tilewire/fp8.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

/// The value of a code by the format's definition.
double value_of(int code, int mantissa_bits, int bias) {
  const int exponent = code >> mantissa_bits;
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const double fraction = static_cast<double>(mantissa) / (1 << mantissa_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, exponent - bias);
}

template <typename F>
void check_format(int mantissa_bits, int bias, int largest) {
  for (int code = 0; code <= largest; ++code) {
    const double value = value_of(code, mantissa_bits, bias);
    REQUIRE(widen(F{static_cast<uint8_t>(code)}) == value);
    REQUIRE(widen(F{static_cast<uint8_t>(code | 0x80)}) == -value);
    REQUIRE(Narrow<F>::of(static_cast<float>(value)).bits == code);
    REQUIRE(Narrow<F>::of(static_cast<float>(-value)).bits == (code | 0x80));
    if (code == largest) break;
    // Halfway goes to the even code, everything else to the nearer one.
    const double next = value_of(code + 1, mantissa_bits, bias);
    const float middle = static_cast<float>((value + next) / 2);
    const int even = code % 2 == 0 ? code : code + 1;
    REQUIRE(Narrow<F>::of(middle).bits == even);
    REQUIRE(Narrow<F>::of(std::nextafter(middle, 0.0f)).bits == code);
    REQUIRE(Narrow<F>::of(std::nextafter(middle, 1e30f)).bits == code + 1);
  }
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("e4m3: every code, every boundary between codes; saturates") {
  check_format<e4m3>(3, 7, 0x7e);
  CHECK(Narrow<e4m3>::of(449.0f).bits == 0x7e);
  CHECK(Narrow<e4m3>::of(kInfinity).bits == 0x7e);
  CHECK(Narrow<e4m3>::of(-kInfinity).bits == 0xfe);
  CHECK(Narrow<e4m3>::of(std::nanf("")).bits % 0x80 == 0x7f);
  CHECK(std::isnan(widen(e4m3{0x7f})));
  CHECK(std::isnan(widen(e4m3{0xff})));
}

TEST_CASE("e5m2: every code, every boundary between codes; overflows to infinity") {
  check_format<e5m2>(2, 15, 0x7b);
  CHECK(Narrow<e5m2>::of(61439.0f).bits == 0x7b);
  CHECK(Narrow<e5m2>::of(61440.0f).bits == 0x7c);
  CHECK(Narrow<e5m2>::of(1e9f).bits == 0x7c);
  CHECK(Narrow<e5m2>::of(-kInfinity).bits == 0xfc);
  CHECK(widen(e5m2{0x7c}) == kInfinity);
  CHECK(std::isnan(widen(e5m2{0x7d})));
  CHECK(Narrow<e5m2>::of(std::nanf("")).bits % 0x80 > 0x7c);
}

}  // namespace tilewire::device

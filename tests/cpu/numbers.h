#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "compiler/ir/dtype.h"

namespace tilewire {

// Elements of any dtype as their bits, and the plainest code that gives them a meaning: what the
// CPU target is compared with.

using Bits = std::vector<std::uint64_t>;

double to_double(std::uint64_t bits, DType dtype);
/// Nearest, ties to even, by search among all values of an 8 or 16-bit float; e4m3 saturates.
std::uint64_t from_double(double value, DType dtype);

/// Sign-extended where the dtype is signed.
__int128 to_integer(std::uint64_t bits, DType dtype);
/// Wraps around.
std::uint64_t from_integer(__int128 value, DType dtype);

/// Equal bits, or both NaN, or zeros of either sign.
bool same_value(std::uint64_t a, std::uint64_t b, DType dtype);

/// Any bits for integers, among them 0, 1, -1 and the ends of the range; for floats, numbers of
/// many magnitudes, infinities and NaN.
Bits random_elements(DType dtype, std::size_t count, std::mt19937_64& random);
/// Finite floats of magnitude 1/16 to 16, small integers.
Bits moderate_elements(DType dtype, std::size_t count, std::mt19937_64& random);

std::vector<std::byte> pack(const Bits& elements, DType dtype);
Bits unpack(const std::vector<std::byte>& bytes, DType dtype);

}  // namespace tilewire

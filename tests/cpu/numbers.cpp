#include "tests/cpu/numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

namespace tilewire {
namespace {

struct Format {
  int exponent_bits;
  int mantissa_bits;
};

Format format_of(DType dtype) {
  if (dtype == DType::kF16) return {5, 10};
  if (dtype == DType::kBF16) return {8, 7};
  return dtype == DType::kE5M2 ? Format{5, 2} : Format{4, 3};
}

double decode_narrow(std::uint64_t bits, DType dtype) {
  const auto [exponent_bits, mantissa_bits] = format_of(dtype);
  const auto mantissa = static_cast<double>(bits & ((1U << mantissa_bits) - 1));
  const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) != 0 ? -1.0 : 1.0;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const bool is_highest = exponent == (1 << exponent_bits) - 1;
  if (dtype == DType::kE4M3) {
    if (is_highest && mantissa == 7) return std::nan("");
  } else if (is_highest) {
    return mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

/// The positive finite values in ascending order; a value's index is its bits.
const std::vector<double>& finite_values(DType dtype) {
  static std::map<DType, std::vector<double>> tables;
  std::vector<double>& table = tables[dtype];
  for (std::uint64_t bits = 0; table.size() == bits; ++bits) {
    const double value = decode_narrow(bits, dtype);
    if (std::isfinite(value)) table.push_back(value);
  }
  return table;
}

std::uint64_t encode_narrow(double value, DType dtype) {
  const auto [exponent_bits, mantissa_bits] = format_of(dtype);
  const std::uint64_t sign = std::signbit(value) ? 1ULL << (exponent_bits + mantissa_bits) : 0;
  const auto& table = finite_values(dtype);
  if (std::isnan(value)) return sign | (table.size() + (dtype == DType::kE4M3 ? 0 : 1));
  const double magnitude = std::fabs(value);
  const auto above = std::lower_bound(table.begin(), table.end(), magnitude);
  if (above == table.end()) {
    if (dtype == DType::kE4M3) return sign | (table.size() - 1);
    // As if the next value up existed: it is where infinity begins.
    const double next = 2 * table.back() - table[table.size() - 2];
    return sign | (magnitude < (table.back() + next) / 2 ? table.size() - 1 : table.size());
  }
  auto index = static_cast<std::uint64_t>(above - table.begin());
  if (*above == magnitude || index == 0) return sign | index;
  const double down = magnitude - table[index - 1];
  const double up = table[index] - magnitude;
  if (down < up || (down == up && (index - 1) % 2 == 0)) --index;
  return sign | index;
}

}  // namespace

double to_double(std::uint64_t bits, DType dtype) {
  if (dtype == DType::kF64) return std::bit_cast<double>(bits);
  if (dtype == DType::kF32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (is_float(dtype)) return decode_narrow(bits, dtype);
  return static_cast<double>(to_integer(bits, dtype));
}

std::uint64_t from_double(double value, DType dtype) {
  if (dtype == DType::kF64) return std::bit_cast<std::uint64_t>(value);
  if (dtype == DType::kF32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return encode_narrow(value, dtype);
}

__int128 to_integer(std::uint64_t bits, DType dtype) {
  const int num_bits = 8 * num_bytes(dtype);
  if (!is_signed(dtype) || num_bits == 64) {
    return is_signed(dtype) ? static_cast<__int128>(static_cast<std::int64_t>(bits))
                            : static_cast<__int128>(bits);
  }
  const std::uint64_t sign = 1ULL << (num_bits - 1);
  return static_cast<std::int64_t>((bits ^ sign) - sign);
}

std::uint64_t from_integer(__int128 value, DType dtype) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  const int num_bits = 8 * num_bytes(dtype);
  const auto bits = static_cast<std::uint64_t>(value);
  return num_bits == 64 ? bits : bits & ((1ULL << num_bits) - 1);
}

bool same_value(std::uint64_t a, std::uint64_t b, DType dtype) {
  if (a == b) return true;
  if (!is_float(dtype)) return false;
  const double x = to_double(a, dtype);
  const double y = to_double(b, dtype);
  return x == y || (std::isnan(x) && std::isnan(y));
}

Bits random_elements(DType dtype, std::size_t count, std::mt19937_64& random) {
  Bits elements;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t any = random();
    if (dtype == DType::kBool) {
      elements.push_back(any & 1);
    } else if (is_float(dtype)) {
      const double magnitude = std::ldexp(1.0 + static_cast<double>(any >> 12) * 0x1p-52,
                                          static_cast<int>(any % 41) - 20);
      double value = (any & 64) != 0 ? magnitude : -magnitude;
      if (i % 29 == 7) value = HUGE_VAL;
      if (i % 31 == 8) value = std::nan("");
      if (i % 37 == 9) value = 0.0;
      elements.push_back(from_double(value, dtype));
    } else {
      const std::uint64_t smallest = 1ULL << (8 * num_bytes(dtype) - 1);
      const std::uint64_t ends[] = {0, 1, ~0ULL, smallest, smallest - 1, 2, 3, 7};
      elements.push_back(from_integer(
          static_cast<__int128>((any & 3) == 0 ? ends[(any >> 2) % 8] : any >> 8), dtype));
    }
  }
  return elements;
}

Bits moderate_elements(DType dtype, std::size_t count, std::mt19937_64& random) {
  Bits elements;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t any = random();
    if (!is_float(dtype)) {
      elements.push_back(from_integer(static_cast<int>(any % 17), dtype));
      continue;
    }
    const double magnitude =
        std::ldexp(1.0 + static_cast<double>(any >> 12) * 0x1p-52, static_cast<int>(any % 8) - 4);
    elements.push_back(from_double((any & 64) != 0 ? magnitude : -magnitude, dtype));
  }
  return elements;
}

std::vector<std::byte> pack(const Bits& elements, DType dtype) {
  const auto size = static_cast<std::size_t>(num_bytes(dtype));
  std::vector<std::byte> bytes(elements.size() * size);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::memcpy(bytes.data() + i * size, &elements[i], size);
  }
  return bytes;
}

Bits unpack(const std::vector<std::byte>& bytes, DType dtype) {
  const auto size = static_cast<std::size_t>(num_bytes(dtype));
  Bits elements(bytes.size() / size);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::memcpy(&elements[i], bytes.data() + i * size, size);
  }
  return elements;
}

}  // namespace tilewire

#include "compiler/passes/fold_bits.h"

#include <bit>
#include <cmath>

#include "compiler/passes/fold.h"

namespace tilewire {
namespace {

std::uint64_t low_bits(std::int64_t x, DType dtype) {
  const int unused = 64 - 8 * num_bytes(dtype);
  return static_cast<std::uint64_t>(x) << unused >> unused;
}

std::optional<std::uint64_t> bits_of(double value, DType dtype) {
  if (std::isnan(value)) return std::nullopt;
  if (dtype == DType::kF64) return std::bit_cast<std::uint64_t>(value);
  const auto f32 = std::bit_cast<std::uint32_t>(static_cast<float>(round_to(value, dtype)));
  if (dtype == DType::kF32) return f32;
  return dtype == DType::kBF16 ? std::optional<std::uint64_t>(f32 >> 16U) : std::nullopt;
}

std::optional<Attribute> float_of(std::uint64_t bits, DType dtype) {
  double value = 0;
  if (dtype == DType::kF64) {
    value = std::bit_cast<double>(bits);
  } else if (dtype == DType::kF32 || dtype == DType::kBF16) {
    const auto f32 = static_cast<std::uint32_t>(dtype == DType::kBF16 ? bits << 16U : bits);
    value = static_cast<double>(std::bit_cast<float>(f32));
  } else {
    return std::nullopt;
  }
  return std::isnan(value) ? std::nullopt : std::optional<Attribute>(value);
}

}  // namespace

std::int64_t fold_shift(std::string_view op, std::int64_t x, std::int64_t amount, DType dtype) {
  const std::uint64_t by = low_bits(amount, dtype);
  const auto width = static_cast<std::uint64_t>(8 * num_bytes(dtype));
  if (op == "shift_left") {
    return by < width ? wrap(static_cast<std::int64_t>(low_bits(x, dtype) << by), dtype) : 0;
  }
  if (is_signed(dtype)) return x >> (by < width ? by : width - 1);
  return by < width ? static_cast<std::int64_t>(low_bits(x, dtype) >> by) : 0;
}

std::int64_t fold_bit_count(std::string_view op, std::int64_t x, DType dtype) {
  const std::uint64_t bits = low_bits(x, dtype);
  if (op == "popcount") return std::popcount(bits);
  return std::countl_zero(bits) - (64 - 8 * num_bytes(dtype));
}

std::optional<Attribute> fold_bitcast(const Attribute& operand, DType from, DType to) {
  const auto* integer = std::get_if<std::int64_t>(&operand);
  const std::optional<std::uint64_t> bits =
      integer != nullptr ? low_bits(*integer, from) : bits_of(std::get<double>(operand), from);
  if (!bits) return std::nullopt;
  if (is_float(to)) return float_of(*bits, to);
  return Attribute(wrap(static_cast<std::int64_t>(*bits), to));
}

}  // namespace tilewire

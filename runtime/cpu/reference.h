#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "compiler/codegen/cpu/abi.h"
#include "compiler/ir/dtype.h"
#include "compiler/support/error.h"

namespace tilewire {

// What reference functions (`CpuReference`) read and write tiles with.

/// A float of 8 or 16 bits as it lies in memory. `kHasInfinity`: otherwise the largest exponent
/// holds numbers too, and NaN is all ones.
template <typename Bits, int kMantissaBits, bool kHasInfinity>
struct NarrowFloat {
  Bits bits;

  operator float() const {  // NOLINT(google-explicit-constructor): exact
    constexpr int kExponentBits = 8 * static_cast<int>(sizeof(Bits)) - 1 - kMantissaBits;
    constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
    constexpr int kTopExponent = (1 << kExponentBits) - 1;
    const int mantissa = bits & ((1 << kMantissaBits) - 1);
    const int exponent = bits >> kMantissaBits & kTopExponent;
    const float sign = bits >> (8 * sizeof(Bits) - 1) != 0 ? -1.0F : 1.0F;
    if (exponent == 0) {
      return sign * std::ldexp(static_cast<float>(mantissa), 1 - kBias - kMantissaBits);
    }
    if (kHasInfinity ? exponent == kTopExponent && mantissa != 0
                     : exponent == kTopExponent && mantissa == (1 << kMantissaBits) - 1) {
      return std::numeric_limits<float>::quiet_NaN();
    }
    if (kHasInfinity && exponent == kTopExponent) {
      return sign * std::numeric_limits<float>::infinity();
    }
    return sign * std::ldexp(static_cast<float>(mantissa + (1 << kMantissaBits)),
                             exponent - kBias - kMantissaBits);
  }
};
using CpuBF16 = NarrowFloat<std::uint16_t, 7, true>;
using CpuF16 = NarrowFloat<std::uint16_t, 10, true>;
using CpuE4M3 = NarrowFloat<std::uint8_t, 3, false>;
using CpuE5M2 = NarrowFloat<std::uint8_t, 2, true>;

/// A tile's elements as the C++ type that its dtype has in memory (`visit_dtype`).
template <typename T>
std::span<T> elements(const CpuTile& tile) {
  return {static_cast<T*>(tile.data), static_cast<std::size_t>(tile.num_elements())};
}

/// Calls `visit(T())` with the C++ type of the tile's elements.
template <typename Visit>
void visit_dtype(const CpuTile& tile, const Visit& visit) {
  switch (static_cast<DType>(tile.dtype)) {
    case DType::kBool:
      return visit(bool());
    case DType::kI8:
      return visit(std::int8_t());
    case DType::kI16:
      return visit(std::int16_t());
    case DType::kI32:
      return visit(std::int32_t());
    case DType::kI64:
      return visit(std::int64_t());
    case DType::kU8:
      return visit(std::uint8_t());
    case DType::kU16:
      return visit(std::uint16_t());
    case DType::kU32:
      return visit(std::uint32_t());
    case DType::kU64:
      return visit(std::uint64_t());
    case DType::kE4M3:
      return visit(CpuE4M3());
    case DType::kE5M2:
      return visit(CpuE5M2());
    case DType::kF16:
      return visit(CpuF16());
    case DType::kBF16:
      return visit(CpuBF16());
    case DType::kF32:
      return visit(float());
    case DType::kF64:
      return visit(double());
  }
  throw InternalError("a tile of no dtype");
}

}  // namespace tilewire

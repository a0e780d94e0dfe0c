#pragma once

#include <cstdint>

#include "compiler/ir/dtype.h"

namespace tilewire {

/// A binary floating-point format: sign, biased exponent, and a mantissa with an implicit leading
/// bit; subnormals below the smallest exponent.
struct FloatFormat {
  int mantissa_bits;
  int exponent_bits;
  double largest;     ///< finite number
  bool has_infinity;  ///< else what is too large saturates
  std::uint64_t nan;  ///< bits of the quiet one without a sign

  int num_bits() const { return 1 + exponent_bits + mantissa_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int smallest_exponent() const { return 1 - bias(); }  ///< of normal numbers
  /// Its bits, if there is one.
  std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << mantissa_bits;
  }
};

/// InternalError for dtypes that aren't floats.
const FloatFormat& format_of(DType dtype);

}  // namespace tilewire

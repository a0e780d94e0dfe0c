#include "compiler/ir/number_range.h"

#include <limits>

namespace tilewire {

IntegerRange range_of(DType dtype) {
  const int unused = 64 - 8 * num_bytes(dtype) + (is_signed(dtype) ? 1 : 0);
  const std::uint64_t largest = ~std::uint64_t{0} >> static_cast<unsigned>(unused);
  return {is_signed(dtype) ? -static_cast<std::int64_t>(largest) - 1 : 0, largest};
}

bool holds(DType dtype, std::int64_t value) {
  const IntegerRange range = range_of(dtype);
  return value >= range.least && (value < 0 || static_cast<std::uint64_t>(value) <= range.largest);
}

double largest_number(DType dtype) {
  switch (dtype) {
    case DType::kE4M3:
      return 448.0;
    case DType::kE5M2:
      return 57344.0;
    case DType::kF16:
      return 65504.0;
    case DType::kBF16:
      return 0x1.FEp127;
    case DType::kF32:
      return static_cast<double>(std::numeric_limits<float>::max());
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
    case DType::kF64:
      break;
  }
  return std::numeric_limits<double>::max();
}

}  // namespace tilewire

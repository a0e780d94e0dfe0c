#include "compiler/ir/number_range.h"

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

}  // namespace tilewire

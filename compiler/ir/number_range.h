#pragma once

#include <cstdint>

#include "compiler/ir/dtype.h"

namespace tilewire {

/// The ends of an integer dtype.
struct IntegerRange {
  std::int64_t least;
  std::uint64_t largest;
};
IntegerRange range_of(DType dtype);

/// Whether an integer is a value of an integer dtype.
bool holds(DType dtype, std::int64_t value);

}  // namespace tilewire

#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/ir/attribute.h"
#include "compiler/ir/dtype.h"

namespace tilewire {

// Folding of the ops on bits (compiler/ops/bits.cpp), for integers as a dtype stores them.

/// shift_left, shift_right.
std::int64_t fold_shift(std::string_view op, std::int64_t x, std::int64_t amount, DType dtype);
/// popcount, clz.
std::int64_t fold_bit_count(std::string_view op, std::int64_t x, DType dtype);
/// Nothing for f16 and fp8, nor from or to NaN, whose bits a constant doesn't keep.
std::optional<Attribute> fold_bitcast(const Attribute& operand, DType from, DType to);

}  // namespace tilewire

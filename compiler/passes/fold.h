#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/attribute.h"
#include "compiler/ir/dtype.h"
#include "compiler/ir/program.h"

namespace tilewire {

/// The result of an op over constant scalars, by the op's own rules: integers wrap, `//` and `%`
/// round down and give 0 for a divisor of 0, 16-bit floats are computed in f32 and rounded. Nothing
/// where targets may differ in the last bit (exp, tanh, …), or for another kind of op.
std::optional<Attribute> fold(const Statement& op);

/// An integer as a dtype stores it: the low bits, sign-extended or not.
std::int64_t wrap(std::int64_t value, DType dtype);
/// The nearest number that a float dtype of 16 bits or more holds, ties to even; infinity beyond
/// its range.
double round_to(double value, DType dtype);

}  // namespace tilewire

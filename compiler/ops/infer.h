#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/ops/op.h"

namespace tilewire {

// Rules that many ops share. All throw UserError at the call's location.

/// Every operand is a scalar or a tile; all tiles have one shape; all have one dtype. Gives the
/// tile type, or the scalar type where there is no tile. Operands from `first` on are looked at.
Type infer_elementwise(const OpCall& call, std::size_t first = 0);

const Type& require_tile(const OpCall& call, std::size_t operand);
/// A tensor, a window, or a view of one.
const Type& require_view(const OpCall& call, std::size_t operand);
/// The same, or elements of an array of synchronisation objects.
const Type& require_any_view(const OpCall& call, std::size_t operand);
/// Elements of an array of those objects.
const Type& require_object(const OpCall& call, std::size_t operand, Memory memory);
const Type& require_pointer(const OpCall& call, std::size_t operand);
const Type& require_scalar(const OpCall& call, std::size_t operand);
/// An `index` scalar (i64).
void require_index(const OpCall& call, std::size_t operand);

/// fp8 is stored and cast, never computed with.
void refuse_fp8(const OpCall& call, DType dtype);

/// `add`, `min`, `max`, `and`, `or` or `xor`: what copies of a window are reduced by.
void require_operation(const OpCall& call, std::string_view operation);

/// The dtype that elements are summed and multiplied in along an axis: f64 for f64, f32 for other
/// floats, 32 bits for bool and narrow integers, else the dtype itself. UserError for fp8.
DType sum_dtype(const OpCall& call, DType dtype);

std::int64_t integer_attribute(const OpCall& call, std::string_view name);
const std::string& text_attribute(const OpCall& call, std::string_view name);
DType dtype_attribute(const OpCall& call, std::string_view name);
const std::vector<std::int64_t>& integers_attribute(const OpCall& call, std::string_view name);
bool flag_attribute(const OpCall& call, std::string_view name);

/// A static shape of rank 1 to 3 with positive extents.
void require_tile_shape(const OpCall& call, const std::vector<std::int64_t>& shape);
/// Attribute `axis`, a dimension of operand 0.
std::int64_t require_axis(const OpCall& call);
/// The text is one of `allowed`.
void require_one_of(const OpCall& call, std::string_view attribute,
                    const std::vector<std::string_view>& allowed);

}  // namespace tilewire

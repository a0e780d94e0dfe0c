#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/jit/nccl_layout.h"

namespace tilewire {

/// Writes an integer or bool into a field of one of NCCL's structs. BackendError where `fields`,
/// of `layout`'s version, lacks it; InternalError where the value doesn't fit.
void write_field(std::string& bytes, const NcclLayout& layout, const NcclFields& fields,
                 std::string_view field, std::int64_t value);

/// The field's value, taken as unsigned; `otherwise` where this version has no such field.
std::uint64_t read_field(std::string_view bytes, const NcclFields& fields, std::string_view field,
                         std::uint64_t otherwise);

}  // namespace tilewire

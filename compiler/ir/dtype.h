#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace tilewire {

/// Element types. The order is that of `all_dtypes()`, not of widening (see `common_dtype`).
enum class DType : std::uint8_t {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kE4M3,
  kE5M2,
  kF16,
  kBF16,
  kF32,
  kF64,
};

/// `bf16`, `i64`, `e4m3`, …: the spelling in IR text, in Python (`tw.bf16`) and in messages.
std::string_view name_of(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
const std::vector<DType>& all_dtypes();

int num_bytes(DType dtype);
bool is_float(DType dtype);
bool is_fp8(DType dtype);      ///< floats of 8 bits, which are stored and cast, never computed with
bool is_integer(DType dtype);  ///< signed or unsigned; bool is neither
bool is_signed(DType dtype);   ///< signed integers and floats

/// The dtype that a binary operation computes its result in: the wider float if one is a float,
/// else the wider integer (signed if either is, and wide enough for both). bf16 with f16 is f32.
/// fp8 has no arithmetic of its own: with itself it gives f32.
DType common_dtype(DType a, DType b);

/// The dtype that 16-bit and 8-bit floats are computed in; itself for everything else.
DType compute_dtype(DType dtype);

}  // namespace tilewire

#include "compiler/ir/dtype.h"

#include <algorithm>
#include <array>

namespace tilewire {
namespace {

enum class Family : std::uint8_t { kBool, kSigned, kUnsigned, kFloat };

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  int num_bytes;
  Family family;
};

constexpr std::array kInfos = {
    DTypeInfo{DType::kBool, "bool", 1, Family::kBool},
    DTypeInfo{DType::kI8, "i8", 1, Family::kSigned},
    DTypeInfo{DType::kI16, "i16", 2, Family::kSigned},
    DTypeInfo{DType::kI32, "i32", 4, Family::kSigned},
    DTypeInfo{DType::kI64, "i64", 8, Family::kSigned},
    DTypeInfo{DType::kU8, "u8", 1, Family::kUnsigned},
    DTypeInfo{DType::kU16, "u16", 2, Family::kUnsigned},
    DTypeInfo{DType::kU32, "u32", 4, Family::kUnsigned},
    DTypeInfo{DType::kU64, "u64", 8, Family::kUnsigned},
    DTypeInfo{DType::kE4M3, "e4m3", 1, Family::kFloat},
    DTypeInfo{DType::kE5M2, "e5m2", 1, Family::kFloat},
    DTypeInfo{DType::kF16, "f16", 2, Family::kFloat},
    DTypeInfo{DType::kBF16, "bf16", 2, Family::kFloat},
    DTypeInfo{DType::kF32, "f32", 4, Family::kFloat},
    DTypeInfo{DType::kF64, "f64", 8, Family::kFloat},
};

constexpr const DTypeInfo& info_of(DType dtype) { return kInfos[static_cast<std::size_t>(dtype)]; }

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < kInfos.size(); ++i) {
    if (kInfos[i].dtype != static_cast<DType>(i)) return false;
  }
  return true;
}
static_assert(table_is_in_order());

DType integer_of(int num_bytes, bool is_signed) {
  for (const DTypeInfo& info : kInfos) {
    const Family family = is_signed ? Family::kSigned : Family::kUnsigned;
    if (info.family == family && info.num_bytes == num_bytes) return info.dtype;
  }
  return DType::kI64;
}

DType common_integer(DType a, DType b) {
  if (a == DType::kBool) return b;
  if (b == DType::kBool) return a;
  const int widest = std::max(num_bytes(a), num_bytes(b));
  if (is_signed(a) == is_signed(b)) return integer_of(widest, is_signed(a));
  const int unsigned_bytes = num_bytes(is_signed(a) ? b : a);
  const int signed_bytes = num_bytes(is_signed(a) ? a : b);
  return integer_of(std::min(8, std::max(signed_bytes, 2 * unsigned_bytes)), true);
}

}  // namespace

std::string_view name_of(DType dtype) { return info_of(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const DTypeInfo& info : kInfos) {
    if (info.name == name) return info.dtype;
  }
  return std::nullopt;
}

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> dtypes = [] {
    std::vector<DType> all;
    for (const DTypeInfo& info : kInfos) all.push_back(info.dtype);
    return all;
  }();
  return dtypes;
}

int num_bytes(DType dtype) { return info_of(dtype).num_bytes; }

bool is_float(DType dtype) { return info_of(dtype).family == Family::kFloat; }

bool is_integer(DType dtype) {
  const Family family = info_of(dtype).family;
  return family == Family::kSigned || family == Family::kUnsigned;
}

bool is_signed(DType dtype) {
  const Family family = info_of(dtype).family;
  return family == Family::kSigned || family == Family::kFloat;
}

bool is_fp8(DType dtype) { return is_float(dtype) && num_bytes(dtype) == 1; }

DType compute_dtype(DType dtype) {
  return is_float(dtype) && num_bytes(dtype) < 4 ? DType::kF32 : dtype;
}

DType common_dtype(DType a, DType b) {
  if (!is_float(a) && !is_float(b)) return common_integer(a, b);
  if (!is_float(b)) return num_bytes(a) == 1 ? DType::kF32 : a;
  if (!is_float(a)) return num_bytes(b) == 1 ? DType::kF32 : b;
  if (a == b) return num_bytes(a) == 1 ? DType::kF32 : a;
  if (num_bytes(a) == 1 && num_bytes(b) > 1) return b;
  if (num_bytes(b) == 1 && num_bytes(a) > 1) return a;
  if (num_bytes(a) == num_bytes(b)) return DType::kF32;  // bf16 with f16, e4m3 with e5m2
  return num_bytes(a) > num_bytes(b) ? a : b;
}

}  // namespace tilewire

#include "compiler/ir/float_format.h"

#include <limits>

#include "compiler/support/error.h"

namespace tilewire {

const FloatFormat& format_of(DType dtype) {
  static constexpr FloatFormat kE4M3 = {3, 4, 448.0, false, 0x7F};
  static constexpr FloatFormat kE5M2 = {2, 5, 57344.0, true, 0x7E};
  static constexpr FloatFormat kF16 = {10, 5, 65504.0, true, 0x7E00};
  static constexpr FloatFormat kBF16 = {7, 8, 0x1.FEp127, true, 0x7FC0};
  static constexpr FloatFormat kF32 = {23, 8, std::numeric_limits<float>::max(), true, 0x7FC00000};
  static constexpr FloatFormat kF64 = {52, 11, std::numeric_limits<double>::max(), true,
                                       0x7FF8000000000000};
  switch (dtype) {
    case DType::kE4M3:
      return kE4M3;
    case DType::kE5M2:
      return kE5M2;
    case DType::kF16:
      return kF16;
    case DType::kBF16:
      return kBF16;
    case DType::kF32:
      return kF32;
    case DType::kF64:
      return kF64;
    case DType::kBool:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      break;
  }
  throw InternalError("a float format of what is no float");
}

}  // namespace tilewire

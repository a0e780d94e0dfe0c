#include "compiler/codegen/cpu/llvm_formats.h"

#include <llvm/IR/Intrinsics.h>

#include <cmath>

#include "compiler/ir/float_format.h"

namespace tilewire {
namespace {

/// Bit operations on f32 values, scalar.
struct Bits {
  llvm::IRBuilder<>& builder;

  llvm::Value* number(double value) const {
    return llvm::ConstantFP::get(builder.getFloatTy(), value);
  }
  llvm::Value* word(std::uint32_t value) const { return builder.getInt32(value); }
  llvm::Value* of(llvm::Value* f32) const {
    return builder.CreateBitCast(f32, builder.getInt32Ty());
  }
  llvm::Value* to_float(llvm::Value* bits) const {
    return builder.CreateBitCast(bits, builder.getFloatTy());
  }
  llvm::Value* is_nan(llvm::Value* f32) const { return builder.CreateFCmpUNO(f32, f32); }
  llvm::Value* magnitude(llvm::Value* bits) const { return builder.CreateAnd(bits, 0x7FFFFFFFU); }
  llvm::Value* sign(llvm::Value* bits) const { return builder.CreateAnd(bits, 0x80000000U); }
};

/// Adds half of the last place that stays, or a little less where that place is even, and cuts.
llvm::Value* round_bits(llvm::IRBuilder<>& builder, llvm::Value* bits, int dropped) {
  const std::uint32_t unit = 1U << static_cast<unsigned>(dropped);
  llvm::Value* is_odd = builder.CreateICmpNE(builder.CreateAnd(bits, unit), builder.getInt32(0));
  llvm::Value* half =
      builder.CreateSelect(is_odd, builder.getInt32(unit / 2), builder.getInt32(unit / 2 - 1));
  return builder.CreateAnd(builder.CreateAdd(bits, half), ~(unit - 1));
}

llvm::Value* round_to_bf16(llvm::IRBuilder<>& builder, llvm::Value* f32) {
  const Bits bits{builder};
  llvm::Value* word = bits.of(f32);
  llvm::Value* nan = builder.CreateAnd(builder.CreateOr(word, 0x400000U), 0xFFFF0000U);
  return bits.to_float(builder.CreateSelect(bits.is_nan(f32), nan, round_bits(builder, word, 16)));
}

/// In this binade of f32, a unit in the last place is the format's smallest subnormal.
double subnormal_magic(const FloatFormat& format) {
  return std::ldexp(1.0, format.smallest_exponent() - format.mantissa_bits + 23);
}

}  // namespace

bool is_narrow_float(DType dtype) { return is_float(dtype) && num_bytes(dtype) <= 2; }

llvm::Value* round_to_format(llvm::IRBuilder<>& builder, llvm::Value* f32, DType dtype) {
  if (dtype == DType::kBF16) return round_to_bf16(builder, f32);
  const FloatFormat& format = format_of(dtype);
  const Bits bits{builder};
  llvm::Value* word = bits.of(f32);
  llvm::Value* magnitude = bits.magnitude(word);
  llvm::Value* absolute = bits.to_float(magnitude);

  llvm::Value* normal = bits.to_float(round_bits(builder, magnitude, 23 - format.mantissa_bits));
  llvm::Value* magic = bits.number(subnormal_magic(format));
  llvm::Value* subnormal = builder.CreateFSub(builder.CreateFAdd(absolute, magic), magic);
  llvm::Value* is_subnormal =
      builder.CreateFCmpOLT(absolute, bits.number(std::ldexp(1.0, format.smallest_exponent())));
  llvm::Value* rounded = builder.CreateSelect(is_subnormal, subnormal, normal);

  llvm::Value* is_too_large = builder.CreateFCmpOGT(rounded, bits.number(format.largest));
  llvm::Value* limit = bits.number(format.has_infinity ? HUGE_VAL : format.largest);
  rounded = builder.CreateSelect(is_too_large, limit, rounded);
  rounded = bits.to_float(builder.CreateOr(bits.of(rounded), bits.sign(word)));
  return builder.CreateSelect(bits.is_nan(f32), quiet(builder, f32), rounded);
}

llvm::Value* quiet(llvm::IRBuilder<>& builder, llvm::Value* f32_nan) {
  const Bits bits{builder};
  return bits.to_float(builder.CreateOr(bits.of(f32_nan), 0x400000U));
}

llvm::Value* encode_format(llvm::IRBuilder<>& builder, llvm::Value* f32, DType dtype) {
  const Bits bits{builder};
  llvm::Value* word = bits.of(f32);
  if (dtype == DType::kBF16) {
    return builder.CreateTrunc(builder.CreateLShr(word, 16), builder.getInt16Ty());
  }
  const FloatFormat& format = format_of(dtype);
  llvm::Value* magnitude = bits.magnitude(word);
  llvm::Value* absolute = bits.to_float(magnitude);

  const auto rebias = static_cast<std::uint32_t>(127 - format.bias())
                      << static_cast<unsigned>(format.mantissa_bits);
  llvm::Value* encoded = builder.CreateSub(builder.CreateLShr(magnitude, 23 - format.mantissa_bits),
                                           bits.word(rebias));
  llvm::Value* magic = bits.number(subnormal_magic(format));
  llvm::Value* subnormal =
      builder.CreateSub(bits.of(builder.CreateFAdd(absolute, magic)), bits.of(magic));
  llvm::Value* is_subnormal =
      builder.CreateFCmpOLT(absolute, bits.number(std::ldexp(1.0, format.smallest_exponent())));
  encoded = builder.CreateSelect(is_subnormal, subnormal, encoded);
  if (format.has_infinity) {
    llvm::Value* is_infinite = builder.CreateFCmpOEQ(absolute, bits.number(HUGE_VAL));
    encoded = builder.CreateSelect(is_infinite, bits.word(format.infinity()), encoded);
  }
  llvm::Value* nan = bits.word(format.nan);
  if (format.has_infinity) {
    nan = builder.CreateAnd(builder.CreateLShr(magnitude, 23 - format.mantissa_bits),
                            format.infinity() | ((1U << format.mantissa_bits) - 1));
  }
  encoded = builder.CreateSelect(bits.is_nan(f32), nan, encoded);
  llvm::Value* sign = builder.CreateLShr(bits.sign(word), 32 - format.num_bits());
  return builder.CreateTrunc(builder.CreateOr(encoded, sign),
                             builder.getIntNTy(static_cast<unsigned>(format.num_bits())));
}

llvm::Value* decode_format(llvm::IRBuilder<>& builder, llvm::Value* encoded, DType dtype) {
  const Bits bits{builder};
  llvm::Value* word = builder.CreateZExt(encoded, builder.getInt32Ty());
  if (dtype == DType::kBF16) return bits.to_float(builder.CreateShl(word, 16));
  const FloatFormat& format = format_of(dtype);
  const std::uint32_t sign_bit = 1U << static_cast<unsigned>(format.num_bits() - 1);
  llvm::Value* magnitude = builder.CreateAnd(word, sign_bit - 1);
  // The exponent is too small by the difference of the biases; a product by a power of two mends
  // it, and makes subnormals normal.
  llvm::Value* number = bits.to_float(builder.CreateShl(magnitude, 23 - format.mantissa_bits));
  number = builder.CreateFMul(number, bits.number(std::ldexp(1.0, 127 - format.bias())));
  llvm::Value* nan = bits.to_float(
      builder.CreateOr(builder.CreateShl(magnitude, 23 - format.mantissa_bits), 0x7F800000U));
  if (format.has_infinity) {
    llvm::Value* infinity = bits.word(format.infinity());
    number = builder.CreateSelect(builder.CreateICmpEQ(magnitude, infinity), bits.number(HUGE_VAL),
                                  number);
    number = builder.CreateSelect(builder.CreateICmpUGT(magnitude, infinity), nan, number);
  } else {
    number =
        builder.CreateSelect(builder.CreateICmpEQ(magnitude, bits.word(format.nan)), nan, number);
  }
  llvm::Value* sign = builder.CreateShl(builder.CreateAnd(word, sign_bit), 32 - format.num_bits());
  return bits.to_float(builder.CreateOr(bits.of(number), sign));
}

llvm::Value* truncate_to_odd(llvm::IRBuilder<>& builder, llvm::Value* f64) {
  const Bits bits{builder};
  llvm::Value* nearest = builder.CreateFPTrunc(f64, builder.getFloatTy());
  llvm::Value* back = builder.CreateFPExt(nearest, builder.getDoubleTy());
  const auto magnitude = [&](llvm::Value* x) {
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  };
  // One step towards zero where rounding went away from it, then the sticky bit.
  llvm::Value* is_above = builder.CreateFCmpOGT(magnitude(back), magnitude(f64));
  llvm::Value* is_inexact = builder.CreateFCmpONE(back, f64);
  llvm::Value* word = bits.of(nearest);
  word = builder.CreateSub(word, builder.CreateZExt(is_above, builder.getInt32Ty()));
  word = builder.CreateOr(word, builder.CreateZExt(is_inexact, builder.getInt32Ty()));
  return bits.to_float(word);
}

}  // namespace tilewire

#include "compiler/codegen/cpu/llvm_rounding.h"

#include <llvm/IR/Intrinsics.h>

#include <cmath>
#include <limits>

#include "compiler/codegen/cpu/llvm_formats.h"
#include "compiler/ir/float_format.h"

namespace tilewire {
namespace {

/// Rounds magnitudes to a format.
class Rounder {
 public:
  Rounder(llvm::IRBuilder<>& builder, const FloatFormat& format, Rounding rounding,
          llvm::Value* f32)
      : builder_(builder), format_(format), rounding_(rounding) {
    bits_ = builder_.CreateBitCast(f32, builder_.getInt32Ty());
    magnitude_ = builder_.CreateAnd(bits_, 0x7FFFFFFFU);
    sign_ = builder_.CreateAnd(bits_, 0x80000000U);
    llvm::Value* is_negative = builder_.CreateICmpNE(sign_, builder_.getInt32(0));
    is_away_ = rounding == Rounding::kUp     ? builder_.CreateNot(is_negative)
               : rounding == Rounding::kDown ? is_negative
                                             : builder_.getFalse();
  }

  llvm::Value* number(double value) const {
    return llvm::ConstantFP::get(builder_.getFloatTy(), value);
  }
  llvm::Value* is_away() const { return is_away_; }
  llvm::Value* absolute() const { return to_float(magnitude_); }
  llvm::Value* with_sign(llvm::Value* absolute) const {
    llvm::Value* word = builder_.CreateBitCast(absolute, builder_.getInt32Ty());
    return to_float(builder_.CreateOr(word, sign_));
  }

  /// The magnitude, rounded as if the format had no largest number.
  llvm::Value* rounded() const {
    if (format_.mantissa_bits == 23) return absolute();
    if (format_.smallest_exponent() == -126) return normal();
    llvm::Value* is_subnormal =
        builder_.CreateFCmpOLT(absolute(), number(std::ldexp(1.0, format_.smallest_exponent())));
    return builder_.CreateSelect(is_subnormal, subnormal(), normal());
  }

 private:
  llvm::Value* to_float(llvm::Value* bits) const {
    return builder_.CreateBitCast(bits, builder_.getFloatTy());
  }

  /// The bits that the format lacks are cut, after an addition that carries where it should.
  llvm::Value* normal() const {
    const auto cut = static_cast<unsigned>(23 - format_.mantissa_bits);
    const std::uint32_t mask = (1U << cut) - 1;
    llvm::Value* carry = nullptr;
    if (rounding_ == Rounding::kNearest) {
      llvm::Value* last = builder_.CreateAnd(builder_.CreateLShr(magnitude_, cut), 1);
      carry = builder_.CreateAdd(last, builder_.getInt32(mask >> 1U));
    } else {
      carry = builder_.CreateSelect(is_away_, builder_.getInt32(mask), builder_.getInt32(0));
    }
    return to_float(builder_.CreateAnd(builder_.CreateAdd(magnitude_, carry), ~mask));
  }

  /// In units of the smallest number of the format.
  llvm::Value* subnormal() const {
    const int unit = format_.smallest_exponent() - format_.mantissa_bits;
    llvm::Value* scaled = builder_.CreateFMul(absolute(), number(std::ldexp(1.0, -unit)));
    const auto whole = [&](unsigned id) { return builder_.CreateUnaryIntrinsic(id, scaled); };
    llvm::Value* count = rounding_ == Rounding::kNearest
                             ? whole(llvm::Intrinsic::roundeven)
                             : builder_.CreateSelect(is_away_, whole(llvm::Intrinsic::ceil),
                                                     whole(llvm::Intrinsic::floor));
    return builder_.CreateFMul(count, number(std::ldexp(1.0, unit)));
  }

  llvm::IRBuilder<>& builder_;
  const FloatFormat& format_;
  Rounding rounding_;
  llvm::Value* bits_;
  llvm::Value* magnitude_;
  llvm::Value* sign_;
  llvm::Value* is_away_;
};

}  // namespace

llvm::Value* round_to_format(llvm::IRBuilder<>& builder, llvm::Value* f32, DType dtype,
                             Rounding rounding, bool saturates) {
  const FloatFormat& format = format_of(dtype);
  const Rounder rounder(builder, format, rounding, f32);
  llvm::Value* rounded = rounder.rounded();
  llvm::Value* largest = rounder.number(format.largest);
  llvm::Value* beyond =
      rounder.number(format.has_infinity ? std::numeric_limits<double>::infinity()
                                         : std::numeric_limits<double>::quiet_NaN());
  llvm::Value* limit = largest;
  if (!saturates) {
    llvm::Value* is_infinite = builder.CreateFCmpOEQ(
        rounder.absolute(), rounder.number(std::numeric_limits<double>::infinity()));
    llvm::Value* leaves = rounding == Rounding::kNearest
                              ? builder.getTrue()
                              : builder.CreateOr(is_infinite, rounder.is_away());
    limit = builder.CreateSelect(leaves, beyond, largest);
  }
  rounded = builder.CreateSelect(builder.CreateFCmpOGT(rounded, largest), limit, rounded);
  llvm::Value* is_nan = builder.CreateFCmpUNO(f32, f32);
  return builder.CreateSelect(is_nan, quiet(builder, f32), rounder.with_sign(rounded));
}

llvm::Value* round_to_f32(llvm::IRBuilder<>& builder, llvm::Value* f64, Rounding rounding) {
  llvm::Value* nearest = builder.CreateFPTrunc(f64, builder.getFloatTy());
  if (rounding == Rounding::kNearest) return nearest;
  llvm::Value* back = builder.CreateFPExt(nearest, builder.getDoubleTy());
  const auto magnitude = [&](llvm::Value* x) {
    return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  };
  llvm::Value* zero = llvm::ConstantFP::get(builder.getDoubleTy(), 0.0);
  llvm::Value* is_negative = builder.CreateFCmpOLT(f64, zero);
  llvm::Value* is_away = rounding == Rounding::kUp     ? builder.CreateNot(is_negative)
                         : rounding == Rounding::kDown ? is_negative
                                                       : builder.getFalse();
  // One step in the wanted direction where the nearest number lies on the other side.
  llvm::Value* is_above = builder.CreateFCmpOGT(magnitude(back), magnitude(f64));
  llvm::Value* is_below = builder.CreateFCmpOLT(magnitude(back), magnitude(f64));
  llvm::Type* word_type = builder.getInt32Ty();
  llvm::Value* outwards = builder.CreateAnd(is_away, is_below);
  llvm::Value* inwards = builder.CreateAnd(builder.CreateNot(is_away), is_above);
  llvm::Value* word = builder.CreateBitCast(nearest, word_type);
  word = builder.CreateAdd(word, builder.CreateZExt(outwards, word_type));
  word = builder.CreateSub(word, builder.CreateZExt(inwards, word_type));
  return builder.CreateBitCast(word, builder.getFloatTy());
}

}  // namespace tilewire

#include "compiler/codegen/cpu/llvm_math.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

namespace tilewire {
namespace {

/// 1.5 · 2^23: adding it to a small f32 rounds that to an integer, which the low bits then hold.
constexpr double kShift = 12582912.0;
constexpr std::uint32_t kShiftBits = 0x4B400000;
constexpr std::uint32_t kOneBits = 0x3F800000;
constexpr std::uint32_t kRootOfHalfBits = 0x3F3504F3;
constexpr double kLogOf2High = 0x1.62e400p-1;  // 17 bits: exact times an exponent
constexpr double kLogOf2Low = 0x1.7f7d1cp-20;
constexpr double kLog2OfE = 0x1.715476p+0;

}  // namespace

llvm::Value* LlvmMath::number(double value) const {
  return llvm::ConstantFP::get(builder_.getFloatTy(), value);
}

llvm::Value* LlvmMath::bits(llvm::Value* f32) const {
  return builder_.CreateBitCast(f32, builder_.getInt32Ty());
}

llvm::Value* LlvmMath::float_of(llvm::Value* bits) const {
  return builder_.CreateBitCast(bits, builder_.getFloatTy());
}

llvm::Value* LlvmMath::fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) const {
  return builder_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {builder_.getFloatTy()}, {a, b, c});
}

llvm::Value* LlvmMath::polynomial(llvm::Value* x,
                                  std::initializer_list<double> highest_first) const {
  llvm::Value* sum = nullptr;
  for (const double coefficient : highest_first) {
    sum = sum == nullptr ? number(coefficient) : fma(sum, x, number(coefficient));
  }
  return sum;
}

llvm::Value* LlvmMath::absolute(llvm::Value* x) const {
  return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
}

llvm::Value* LlvmMath::with_sign_of(llvm::Value* magnitude, llvm::Value* x) const {
  return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, x);
}

llvm::Value* LlvmMath::at_most(llvm::Value* x, double limit) const {
  return builder_.CreateSelect(builder_.CreateFCmpOGT(x, number(limit)), number(limit), x);
}

llvm::Value* LlvmMath::at_least(llvm::Value* x, double limit) const {
  return builder_.CreateSelect(builder_.CreateFCmpOLT(x, number(limit)), number(limit), x);
}

LlvmMath::Reduced LlvmMath::reduce_by_one(llvm::Value* x) const {
  llvm::Value* shifted = add(x, number(kShift));
  return {shifted, sub(x, sub(shifted, number(kShift)))};
}

/// The product is taken off in two parts (W. Cody, W. Waite, 1980).
LlvmMath::Reduced LlvmMath::reduce_by_log_of_2(llvm::Value* x) const {
  llvm::Value* shifted = fma(x, number(kLog2OfE), number(kShift));
  llvm::Value* whole = sub(shifted, number(kShift));
  llvm::Value* rest = fma(whole, number(-kLogOf2High), x);
  return {shifted, fma(whole, number(-kLogOf2Low), rest)};
}

/// e^r - 1 for |r| ≤ log(2) / 2, divided by r and less 1, that is r/2 + r²/6 + …
llvm::Value* LlvmMath::exp_minus_1_of_rest(llvm::Value* rest) const {
  return mul(polynomial(rest, {0x1.6d98fcp-10, 0x1.1227f2p-7, 0x1.555486p-5, 0x1.5554b0p-3, 0.5}),
             rest);
}

/// 2^n of a reduction's whole number, -126 ≤ n ≤ 127.
llvm::Value* LlvmMath::power_of_2(llvm::Value* shifted) const {
  return float_of(builder_.CreateAdd(builder_.CreateShl(bits(shifted), 23), word(kOneBits)));
}

/// x · 2^n for any n: in two steps, so that the result may be subnormal or infinite.
llvm::Value* LlvmMath::scale(llvm::Value* x, llvm::Value* shifted) const {
  llvm::Value* whole = builder_.CreateSub(bits(shifted), word(kShiftBits));
  llvm::Value* half = builder_.CreateAShr(whole, 1);
  llvm::Value* rest = builder_.CreateSub(whole, half);
  const auto power = [&](llvm::Value* exponent) {
    return float_of(builder_.CreateAdd(builder_.CreateShl(exponent, 23), word(kOneBits)));
  };
  return mul(mul(x, power(half)), power(rest));
}

llvm::Value* LlvmMath::exp(llvm::Value* x) const {
  const Reduced reduced = reduce_by_log_of_2(at_most(at_least(x, -105.0), 90.0));
  llvm::Value* one = number(1.0);
  llvm::Value* power = fma(add(exp_minus_1_of_rest(reduced.rest), one), reduced.rest, one);
  return scale(power, reduced.shifted);
}

llvm::Value* LlvmMath::exp2(llvm::Value* x) const {
  const Reduced reduced = reduce_by_one(at_most(at_least(x, -152.0), 130.0));
  llvm::Value* power = polynomial(reduced.rest, {0x1.4308fap-13, 0x1.5f07b4p-10, 0x1.3b2ba0p-7,
                                                 0x1.c6af6ep-5, 0x1.ebfbdep-3, 0x1.62e430p-1, 1.0});
  return scale(power, reduced.shifted);
}

/// 1 - 2 / (e^2|x| + 1), and near 0, where that loses digits, an odd polynomial.
llvm::Value* LlvmMath::tanh(llvm::Value* x) const {
  llvm::Value* one = number(1.0);
  llvm::Value* twice = at_most(mul(absolute(x), number(2.0)), 20.0);
  const Reduced reduced = reduce_by_log_of_2(twice);
  llvm::Value* of_rest = fma(add(exp_minus_1_of_rest(reduced.rest), one), reduced.rest, one);
  llvm::Value* power = mul(of_rest, power_of_2(reduced.shifted));
  llvm::Value* reciprocal = builder_.CreateFDiv(one, add(power, one));
  llvm::Value* far = fma(number(-2.0), reciprocal, one);

  llvm::Value* square = mul(x, x);
  llvm::Value* higher = polynomial(
      square, {-0x1.825858p-8, 0x1.54b8a0p-6, -0x1.b898dep-5, 0x1.1109aep-3, -0x1.55553ep-2});
  llvm::Value* near = fma(mul(x, square), higher, x);
  llvm::Value* is_far = builder_.CreateFCmpOGE(twice, number(1.2));
  return with_sign_of(builder_.CreateSelect(is_far, far, near), x);
}

/// 1 - 2^s(|x|) with s = log2 of the complementary error function, a polynomial on [0, 4] without
/// constant term: as (1 - 2^n) - 2^n (2^f - 1) it is accurate near 0 too. Beyond 4 it is 1.
llvm::Value* LlvmMath::erf(llvm::Value* x) const {
  llvm::Value* a = at_most(absolute(x), 4.0);
  llvm::Value* s = mul(polynomial(a, {0x1.c0158cp-17, -0x1.63ede6p-13, 0x1.deab72p-11,
                                      -0x1.3b3acap-9, 0x1.e548d2p-13, 0x1.c4b924p-6, -0x1.2fabe2p-3,
                                      -0x1.d63ec4p-1, -0x1.a0be84p+0}),
                       a);
  const Reduced reduced = reduce_by_one(s);
  llvm::Value* f = reduced.rest;
  llvm::Value* higher =
      polynomial(f, {0x1.4308fap-13, 0x1.5f07b4p-10, 0x1.3b2ba0p-7, 0x1.c6af6ep-5, 0x1.ebfbdep-3});
  llvm::Value* of_rest = fma(f, number(0x1.62e430p-1), mul(higher, mul(f, f)));
  llvm::Value* power = power_of_2(reduced.shifted);
  llvm::Value* result = fma(builder_.CreateFNeg(of_rest), power, sub(number(1.0), power));
  return with_sign_of(result, x);
}

/// From e^-|x|, which overflows nowhere. What the sum 1 + e lost is put back, nearly: its
/// reciprocal is between 0.5 and 1.
llvm::Value* LlvmMath::sigmoid(llvm::Value* x) const {
  llvm::Value* one = number(1.0);
  llvm::Value* e = exp(builder_.CreateFNeg(absolute(x)));
  llvm::Value* sum = add(one, e);
  llvm::Value* loss = sub(e, sub(sum, one));
  llvm::Value* is_negative = builder_.CreateFCmpOLT(x, number(0.0));
  llvm::Value* quotient = builder_.CreateFDiv(builder_.CreateSelect(is_negative, e, one), sum);
  return fma(mul(quotient, number(-0.7)), loss, quotient);
}

/// The fields of a positive f32, with the binade cut at sqrt(1/2).
LlvmMath::Mantissa LlvmMath::split(llvm::Value* x) const {
  const double smallest_normal = 0x1p-126;
  llvm::Value* is_subnormal = builder_.CreateFCmpOLT(x, number(smallest_normal));
  x = builder_.CreateSelect(is_subnormal, mul(x, number(0x1p23)), x);
  llvm::Value* distance = builder_.CreateSub(bits(x), word(kRootOfHalfBits));
  llvm::Value* exponent = builder_.CreateAShr(distance, 23);
  exponent = builder_.CreateSub(exponent, builder_.CreateSelect(is_subnormal, word(23), word(0)));
  llvm::Value* mantissa =
      builder_.CreateAdd(builder_.CreateAnd(distance, 0x7FFFFFU), word(kRootOfHalfBits));
  return {builder_.CreateSIToFP(exponent, builder_.getFloatTy()),
          sub(float_of(mantissa), number(1.0))};
}

/// (log(1 + f) - f + f²/2) / f².
llvm::Value* LlvmMath::log_polynomial(llvm::Value* fraction) const {
  return mul(polynomial(fraction, {-0x1.41ee1ep-4, 0x1.07d0f2p-3, -0x1.0ce078p-3, 0x1.226e48p-3,
                                   -0x1.54788cp-3, 0x1.99a596p-3, -0x1.000220p-2, 0x1.55554ap-2}),
             fraction);
}

/// Of 0, of negative numbers, of infinity and NaN.
llvm::Value* LlvmMath::finish_log(llvm::Value* x, llvm::Value* result) const {
  const double infinity = std::numeric_limits<double>::infinity();
  llvm::Value* nan = number(std::numeric_limits<double>::quiet_NaN());
  llvm::Value* zero = number(0.0);
  result = builder_.CreateSelect(builder_.CreateFCmpOEQ(x, zero), number(-infinity), result);
  result = builder_.CreateSelect(builder_.CreateFCmpOLT(x, zero), nan, result);
  return builder_.CreateSelect(builder_.CreateFCmpOLT(x, number(infinity)), result, x);
}

llvm::Value* LlvmMath::log(llvm::Value* x) const {
  const auto [exponent, f] = split(x);
  llvm::Value* square = mul(f, f);
  llvm::Value* low = fma(exponent, number(kLogOf2Low), mul(square, number(-0.5)));
  llvm::Value* sum = add(fma(log_polynomial(f), square, low), f);
  return finish_log(x, fma(exponent, number(kLogOf2High), sum));
}

llvm::Value* LlvmMath::log2(llvm::Value* x) const {
  const double high = 0x1.714p+0;  // of log2(e), so that the product with f loses little
  const auto [exponent, f] = split(x);
  llvm::Value* square = mul(f, f);
  llvm::Value* beyond_f = fma(log_polynomial(f), square, mul(square, number(-0.5)));
  llvm::Value* low = fma(f, number(0x1.71547652b82fep+0 - high), mul(beyond_f, number(kLog2OfE)));
  return finish_log(x, add(fma(f, number(high), low), exponent));
}

}  // namespace tilewire

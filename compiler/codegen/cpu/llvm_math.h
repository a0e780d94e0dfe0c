#pragma once

#include <llvm/IR/IRBuilder.h>

namespace tilewire {

/// Mathematical functions of f32, in arithmetic that vectorises: no calls, no branches, no tables.
/// At most 2 units in the last place from the exact result over all of f32 (tests/cpu measures it),
/// subnormal results, infinities and NaN included. The polynomials are minimax fits of this
/// project (Remez), rounded to f32.
class LlvmMath {
 public:
  explicit LlvmMath(llvm::IRBuilder<>& builder) : builder_(builder) {}

  llvm::Value* exp(llvm::Value* x) const;
  llvm::Value* exp2(llvm::Value* x) const;
  llvm::Value* log(llvm::Value* x) const;
  llvm::Value* log2(llvm::Value* x) const;
  llvm::Value* tanh(llvm::Value* x) const;
  llvm::Value* erf(llvm::Value* x) const;
  llvm::Value* sigmoid(llvm::Value* x) const;

 private:
  /// x = whole · step + rest, |rest| ≤ step / 2. `shifted` has the whole number in its low bits.
  struct Reduced {
    llvm::Value* shifted;
    llvm::Value* rest;
  };
  struct Mantissa {
    llvm::Value* exponent;  ///< as f32
    llvm::Value* fraction;  ///< mantissa - 1, in [sqrt(1/2) - 1, sqrt(2) - 1]
  };

  llvm::Value* number(double value) const;
  llvm::Value* word(std::uint32_t value) const { return builder_.getInt32(value); }
  llvm::Value* bits(llvm::Value* f32) const;
  llvm::Value* float_of(llvm::Value* bits) const;
  llvm::Value* add(llvm::Value* a, llvm::Value* b) const { return builder_.CreateFAdd(a, b); }
  llvm::Value* sub(llvm::Value* a, llvm::Value* b) const { return builder_.CreateFSub(a, b); }
  llvm::Value* mul(llvm::Value* a, llvm::Value* b) const { return builder_.CreateFMul(a, b); }
  /// a · b + c, fused where the processor does that in one step.
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c) const;
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<double> highest_first) const;
  llvm::Value* absolute(llvm::Value* x) const;
  llvm::Value* with_sign_of(llvm::Value* magnitude, llvm::Value* x) const;
  llvm::Value* at_most(llvm::Value* x, double limit) const;   ///< NaN stays
  llvm::Value* at_least(llvm::Value* x, double limit) const;  ///< NaN stays

  Reduced reduce_by_one(llvm::Value* x) const;
  Reduced reduce_by_log_of_2(llvm::Value* x) const;
  llvm::Value* exp_minus_1_of_rest(llvm::Value* rest) const;
  llvm::Value* power_of_2(llvm::Value* shifted) const;
  llvm::Value* scale(llvm::Value* x, llvm::Value* shifted) const;
  Mantissa split(llvm::Value* x) const;
  llvm::Value* log_polynomial(llvm::Value* fraction) const;
  llvm::Value* finish_log(llvm::Value* x, llvm::Value* result) const;

  llvm::IRBuilder<>& builder_;
};

}  // namespace tilewire

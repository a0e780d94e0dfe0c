#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>

#include "compiler/codegen/cpu/scalar_emitter.h"

namespace tilewire {

class LlvmMath;

/// ScalarEmitter over LLVM: handles are `llvm::Value*`, made where the builder stands.
class LlvmScalars final : public ScalarEmitter {
 public:
  explicit LlvmScalars(llvm::IRBuilder<>& builder) : builder_(builder) {}

  /// As values are held in registers (i1 for bool, f32 for narrow floats), and as they lie in
  /// memory (i8 for bool, i16 or i8 for narrow floats).
  llvm::Type* register_type(DType dtype) const;
  llvm::Type* memory_type(DType dtype) const;
  CpuScalar from_memory(llvm::Value* stored, DType dtype) const;
  llvm::Value* to_memory(CpuScalar x) const;

  CpuScalar integer(std::int64_t value, DType dtype) override;
  CpuScalar number(double value, DType dtype) override;

  CpuScalar add(CpuScalar a, CpuScalar b) override;
  CpuScalar sub(CpuScalar a, CpuScalar b) override;
  CpuScalar mul(CpuScalar a, CpuScalar b) override;
  CpuScalar div(CpuScalar a, CpuScalar b) override;
  CpuScalar floor_div(CpuScalar a, CpuScalar b) override;
  CpuScalar mod(CpuScalar a, CpuScalar b) override;
  CpuScalar minimum(CpuScalar a, CpuScalar b) override;
  CpuScalar maximum(CpuScalar a, CpuScalar b) override;
  CpuScalar accumulate(CpuScalar sum, CpuScalar x) override;

  CpuScalar bit_and(CpuScalar a, CpuScalar b) override;
  CpuScalar bit_or(CpuScalar a, CpuScalar b) override;
  CpuScalar bit_xor(CpuScalar a, CpuScalar b) override;
  CpuScalar bit_not(CpuScalar x) override;

  CpuScalar shift_left(CpuScalar x, CpuScalar amount) override;
  CpuScalar shift_right(CpuScalar x, CpuScalar amount) override;
  CpuScalar popcount(CpuScalar x) override;
  CpuScalar leading_zeros(CpuScalar x) override;
  CpuScalar bitcast(CpuScalar x, DType dtype) override;

  CpuScalar compare(Comparison comparison, CpuScalar a, CpuScalar b) override;
  CpuScalar select(CpuScalar condition, CpuScalar a, CpuScalar b) override;

  CpuScalar neg(CpuScalar x) override;
  CpuScalar abs(CpuScalar x) override;
  CpuScalar floor(CpuScalar x) override;
  CpuScalar ceil(CpuScalar x) override;
  CpuScalar round(CpuScalar x) override;
  CpuScalar trunc(CpuScalar x) override;
  CpuScalar sqrt(CpuScalar x) override;
  CpuScalar rsqrt(CpuScalar x) override;
  CpuScalar exp(CpuScalar x) override;
  CpuScalar exp2(CpuScalar x) override;
  CpuScalar log(CpuScalar x) override;
  CpuScalar log2(CpuScalar x) override;
  CpuScalar sin(CpuScalar x) override;
  CpuScalar cos(CpuScalar x) override;
  CpuScalar pow(CpuScalar a, CpuScalar b) override;
  CpuScalar tanh(CpuScalar x) override;
  CpuScalar erf(CpuScalar x) override;
  CpuScalar sigmoid(CpuScalar x) override;
  CpuScalar fma(CpuScalar a, CpuScalar b, CpuScalar c) override;

  CpuScalar cast(CpuScalar x, DType dtype) override;
  CpuScalar cast_rounded(CpuScalar x, DType dtype, Rounding rounding, bool saturates) override;

 private:
  CpuScalar integer_quotient(CpuScalar a, CpuScalar b, bool wants_remainder);
  CpuScalar float_quotient(CpuScalar a, CpuScalar b, bool wants_remainder);
  CpuScalar exact(unsigned id, CpuScalar x);
  CpuScalar extremum(unsigned id, CpuScalar a, CpuScalar b);
  using MathFunction = llvm::Value* (LlvmMath::*)(llvm::Value*) const;
  CpuScalar in_line(const char* name, MathFunction function, CpuScalar x);
  CpuScalar call_math(const std::string& name, std::initializer_list<CpuScalar> operands);
  CpuScalar cast_to_float(CpuScalar x, DType dtype);
  CpuScalar cast_to_integer(CpuScalar x, DType dtype);

  llvm::IRBuilder<>& builder_;
};

inline llvm::Value* llvm_value(CpuScalar x) { return static_cast<llvm::Value*>(x.handle); }

}  // namespace tilewire

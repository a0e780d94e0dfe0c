#include "compiler/codegen/cpu/llvm_scalars.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "compiler/codegen/cpu/llvm_formats.h"
#include "compiler/codegen/cpu/llvm_math.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

llvm::Value* raw(CpuScalar x) { return llvm_value(x); }

void require_same(CpuScalar a, CpuScalar b) {
  if (a.dtype != b.dtype) throw InternalError("a scalar operation on two dtypes");
}

bool is_integer_or_bool(DType dtype) { return !is_float(dtype); }

}  // namespace

llvm::Type* LlvmScalars::register_type(DType dtype) const {
  if (dtype == DType::kBool) return builder_.getInt1Ty();
  if (dtype == DType::kF64) return builder_.getDoubleTy();
  if (is_float(dtype)) return builder_.getFloatTy();
  return builder_.getIntNTy(8U * static_cast<unsigned>(num_bytes(dtype)));
}

llvm::Type* LlvmScalars::memory_type(DType dtype) const {
  if (dtype == DType::kBool) return builder_.getInt8Ty();
  if (is_narrow_float(dtype)) {
    return builder_.getIntNTy(8U * static_cast<unsigned>(num_bytes(dtype)));
  }
  return register_type(dtype);
}

CpuScalar LlvmScalars::from_memory(llvm::Value* stored, DType dtype) const {
  if (dtype == DType::kBool) return {builder_.CreateICmpNE(stored, builder_.getInt8(0)), dtype};
  if (is_narrow_float(dtype)) return {decode_format(builder_, stored, dtype), dtype};
  return {stored, dtype};
}

llvm::Value* LlvmScalars::to_memory(CpuScalar x) const {
  if (x.dtype == DType::kBool) return builder_.CreateZExt(raw(x), builder_.getInt8Ty());
  if (is_narrow_float(x.dtype)) return encode_format(builder_, raw(x), x.dtype);
  return raw(x);
}

CpuScalar LlvmScalars::integer(std::int64_t value, DType dtype) {
  return {llvm::ConstantInt::get(register_type(dtype), static_cast<std::uint64_t>(value),
                                 is_signed(dtype)),
          dtype};
}

CpuScalar LlvmScalars::number(double value, DType dtype) {
  return cast({llvm::ConstantFP::get(builder_.getDoubleTy(), value), DType::kF64}, dtype);
}

CpuScalar LlvmScalars::add(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return {
      is_float(a.dtype) ? builder_.CreateFAdd(raw(a), raw(b)) : builder_.CreateAdd(raw(a), raw(b)),
      compute_dtype(a.dtype)};
}

CpuScalar LlvmScalars::sub(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return {
      is_float(a.dtype) ? builder_.CreateFSub(raw(a), raw(b)) : builder_.CreateSub(raw(a), raw(b)),
      compute_dtype(a.dtype)};
}

CpuScalar LlvmScalars::mul(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return {
      is_float(a.dtype) ? builder_.CreateFMul(raw(a), raw(b)) : builder_.CreateMul(raw(a), raw(b)),
      compute_dtype(a.dtype)};
}

CpuScalar LlvmScalars::div(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return {builder_.CreateFDiv(raw(a), raw(b)), compute_dtype(a.dtype)};
}

CpuScalar LlvmScalars::floor_div(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return is_float(a.dtype) ? float_quotient(a, b, false) : integer_quotient(a, b, false);
}

CpuScalar LlvmScalars::mod(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return is_float(a.dtype) ? float_quotient(a, b, true) : integer_quotient(a, b, true);
}

/// The processor traps on a division by 0 and on the smallest number by -1, so that it never sees
/// these: the first gives 0, the second wraps around.
CpuScalar LlvmScalars::integer_quotient(CpuScalar a, CpuScalar b, bool wants_remainder) {
  const CpuScalar zero = integer(0, a.dtype);
  const CpuScalar one = integer(1, a.dtype);
  const CpuScalar is_zero = compare(Comparison::kEq, b, zero);
  if (!is_signed(a.dtype)) {
    llvm::Value* divisor = raw(select(is_zero, one, b));
    llvm::Value* result = wants_remainder ? builder_.CreateURem(raw(a), divisor)
                                          : builder_.CreateUDiv(raw(a), divisor);
    return select(is_zero, zero, {result, a.dtype});
  }
  const CpuScalar is_minus_one = compare(Comparison::kEq, b, integer(-1, a.dtype));
  const CpuScalar divisor = select(bit_or(is_zero, is_minus_one), one, b);
  const CpuScalar quotient{builder_.CreateSDiv(raw(a), raw(divisor)), a.dtype};
  const CpuScalar remainder{builder_.CreateSRem(raw(a), raw(divisor)), a.dtype};
  // C truncates: one less, and the divisor more, where the signs of remainder and divisor differ.
  const CpuScalar is_off = bit_and(compare(Comparison::kNe, remainder, zero),
                                   compare(Comparison::kLt, bit_xor(remainder, divisor), zero));
  if (wants_remainder) {
    const CpuScalar result = select(is_off, add(remainder, divisor), remainder);
    return select(bit_or(is_zero, is_minus_one), zero, result);
  }
  const CpuScalar result = select(is_off, sub(quotient, one), quotient);
  return select(is_zero, zero, select(is_minus_one, neg(a), result));
}

/// As Python: the quotient is (a - remainder) / b, which is an integer but for rounding; then the
/// remainder gets the divisor's sign, and the quotient is one less.
CpuScalar LlvmScalars::float_quotient(CpuScalar a, CpuScalar b, bool wants_remainder) {
  a.dtype = b.dtype = compute_dtype(a.dtype);
  const CpuScalar zero = number(0.0, a.dtype);
  const CpuScalar remainder = call_math("fmod", {a, b});
  const CpuScalar is_off = bit_and(
      compare(Comparison::kNe, remainder, zero),
      bit_xor(compare(Comparison::kLt, remainder, zero), compare(Comparison::kLt, b, zero)));
  if (wants_remainder) {
    const CpuScalar result = select(is_off, add(remainder, b), remainder);
    const CpuScalar signed_zero{
        builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, raw(zero), raw(b)), a.dtype};
    return select(compare(Comparison::kEq, result, zero), signed_zero, result);
  }
  const CpuScalar quotient = exact(llvm::Intrinsic::roundeven, div(sub(a, remainder), b));
  const CpuScalar result = select(is_off, sub(quotient, number(1.0, a.dtype)), quotient);
  const CpuScalar by_zero = div(a, b);  // infinity or NaN
  return select(compare(Comparison::kEq, b, zero), by_zero, result);
}

CpuScalar LlvmScalars::minimum(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return extremum(is_float(a.dtype)    ? llvm::Intrinsic::minimum
                  : is_signed(a.dtype) ? llvm::Intrinsic::smin
                                       : llvm::Intrinsic::umin,
                  a, b);
}

CpuScalar LlvmScalars::maximum(CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return extremum(is_float(a.dtype)    ? llvm::Intrinsic::maximum
                  : is_signed(a.dtype) ? llvm::Intrinsic::smax
                                       : llvm::Intrinsic::umax,
                  a, b);
}

CpuScalar LlvmScalars::accumulate(CpuScalar sum, CpuScalar x) {
  if (!is_float(sum.dtype)) return add(sum, x);
  const llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  llvm::FastMathFlags any_order;
  any_order.setAllowReassoc();
  builder_.setFastMathFlags(any_order);
  return add(sum, x);
}

CpuScalar LlvmScalars::bit_and(CpuScalar a, CpuScalar b) {
  return {builder_.CreateAnd(raw(a), raw(b)), a.dtype};
}

CpuScalar LlvmScalars::bit_or(CpuScalar a, CpuScalar b) {
  return {builder_.CreateOr(raw(a), raw(b)), a.dtype};
}

CpuScalar LlvmScalars::bit_xor(CpuScalar a, CpuScalar b) {
  return {builder_.CreateXor(raw(a), raw(b)), a.dtype};
}

CpuScalar LlvmScalars::bit_not(CpuScalar x) { return {builder_.CreateNot(raw(x)), x.dtype}; }

CpuScalar LlvmScalars::compare(Comparison comparison, CpuScalar a, CpuScalar b) {
  require_same(a, b);
  using Predicate = llvm::CmpInst::Predicate;
  const auto pick = [&](Predicate of_float, Predicate of_signed, Predicate of_unsigned) {
    return is_float(a.dtype) ? of_float : is_signed(a.dtype) ? of_signed : of_unsigned;
  };
  const Predicate predicate = [&] {
    switch (comparison) {
      case Comparison::kEq:
        return pick(Predicate::FCMP_OEQ, Predicate::ICMP_EQ, Predicate::ICMP_EQ);
      case Comparison::kNe:
        return pick(Predicate::FCMP_UNE, Predicate::ICMP_NE, Predicate::ICMP_NE);
      case Comparison::kLt:
        return pick(Predicate::FCMP_OLT, Predicate::ICMP_SLT, Predicate::ICMP_ULT);
      case Comparison::kLe:
        return pick(Predicate::FCMP_OLE, Predicate::ICMP_SLE, Predicate::ICMP_ULE);
      case Comparison::kGt:
        return pick(Predicate::FCMP_OGT, Predicate::ICMP_SGT, Predicate::ICMP_UGT);
      case Comparison::kGe:
        return pick(Predicate::FCMP_OGE, Predicate::ICMP_SGE, Predicate::ICMP_UGE);
    }
    throw InternalError("unknown comparison");
  }();
  return {builder_.CreateCmp(predicate, raw(a), raw(b)), DType::kBool};
}

CpuScalar LlvmScalars::select(CpuScalar condition, CpuScalar a, CpuScalar b) {
  require_same(a, b);
  return {builder_.CreateSelect(raw(condition), raw(a), raw(b)), a.dtype};
}

CpuScalar LlvmScalars::neg(CpuScalar x) {
  return {is_float(x.dtype) ? builder_.CreateFNeg(raw(x)) : builder_.CreateNeg(raw(x)), x.dtype};
}

CpuScalar LlvmScalars::abs(CpuScalar x) {
  if (is_float(x.dtype)) return exact(llvm::Intrinsic::fabs, x);
  if (!is_signed(x.dtype)) return x;
  return select(compare(Comparison::kLt, x, integer(0, x.dtype)), neg(x), x);
}

CpuScalar LlvmScalars::floor(CpuScalar x) { return exact(llvm::Intrinsic::floor, x); }
CpuScalar LlvmScalars::ceil(CpuScalar x) { return exact(llvm::Intrinsic::ceil, x); }

CpuScalar LlvmScalars::round(CpuScalar x) { return exact(llvm::Intrinsic::roundeven, x); }
CpuScalar LlvmScalars::trunc(CpuScalar x) { return exact(llvm::Intrinsic::trunc, x); }

CpuScalar LlvmScalars::sqrt(CpuScalar x) {
  return {builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, raw(x)), compute_dtype(x.dtype)};
}

CpuScalar LlvmScalars::rsqrt(CpuScalar x) {
  const CpuScalar root = sqrt(x);
  return div(number(1.0, root.dtype), root);
}

// f32 in line, so that loops vectorise; f64 by libm.

CpuScalar LlvmScalars::in_line(const char* name, MathFunction function, CpuScalar x) {
  if (x.dtype == DType::kF64) return call_math(name, {x});
  return {(LlvmMath(builder_).*function)(raw(x)), DType::kF32};
}

CpuScalar LlvmScalars::exp(CpuScalar x) { return in_line("exp", &LlvmMath::exp, x); }
CpuScalar LlvmScalars::exp2(CpuScalar x) { return in_line("exp2", &LlvmMath::exp2, x); }
CpuScalar LlvmScalars::log(CpuScalar x) { return in_line("log", &LlvmMath::log, x); }
CpuScalar LlvmScalars::log2(CpuScalar x) { return in_line("log2", &LlvmMath::log2, x); }
CpuScalar LlvmScalars::tanh(CpuScalar x) { return in_line("tanh", &LlvmMath::tanh, x); }
CpuScalar LlvmScalars::erf(CpuScalar x) { return in_line("erf", &LlvmMath::erf, x); }
CpuScalar LlvmScalars::sin(CpuScalar x) { return call_math("sin", {x}); }
CpuScalar LlvmScalars::cos(CpuScalar x) { return call_math("cos", {x}); }
CpuScalar LlvmScalars::pow(CpuScalar a, CpuScalar b) { return call_math("pow", {a, b}); }

CpuScalar LlvmScalars::sigmoid(CpuScalar x) {
  if (x.dtype != DType::kF64) return {LlvmMath(builder_).sigmoid(raw(x)), DType::kF32};
  const CpuScalar one = number(1.0, DType::kF64);
  return div(one, add(one, exp(neg(x))));
}

/// LLVM's simplification of minimum(minimum(a, b), fma(a, b, c)) takes the fma for another minimum
/// and crashes (LLVM 19); behind a fence it doesn't see it.
CpuScalar LlvmScalars::fma(CpuScalar a, CpuScalar b, CpuScalar c) {
  llvm::Type* type = register_type(a.dtype);
  llvm::Value* result =
      builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, {raw(a), raw(b), raw(c)});
  return {builder_.CreateIntrinsic(llvm::Intrinsic::arithmetic_fence, {type}, {result}),
          compute_dtype(a.dtype)};
}

/// An intrinsic whose result the operand's dtype has.
CpuScalar LlvmScalars::exact(unsigned id, CpuScalar x) {
  return {builder_.CreateUnaryIntrinsic(id, raw(x)), x.dtype};
}

CpuScalar LlvmScalars::extremum(unsigned id, CpuScalar a, CpuScalar b) {
  return {builder_.CreateBinaryIntrinsic(id, raw(a), raw(b)), a.dtype};
}

/// A function of libm, for f64 under its name, for f32 with an `f` behind.
CpuScalar LlvmScalars::call_math(const std::string& name,
                                 std::initializer_list<CpuScalar> operands) {
  const DType dtype = compute_dtype(operands.begin()->dtype);
  std::vector<llvm::Type*> types(operands.size(), register_type(dtype));
  std::vector<llvm::Value*> values;
  for (const CpuScalar operand : operands) values.push_back(raw(operand));
  llvm::Module* module = builder_.GetInsertBlock()->getModule();
  llvm::FunctionCallee function =
      module->getOrInsertFunction(dtype == DType::kF64 ? name : name + "f",
                                  llvm::FunctionType::get(register_type(dtype), types, false));
  auto* declaration = llvm::cast<llvm::Function>(function.getCallee());
  declaration->setDoesNotAccessMemory();
  declaration->setDoesNotThrow();
  declaration->setWillReturn();
  return {builder_.CreateCall(function, values), dtype};
}

CpuScalar LlvmScalars::cast(CpuScalar x, DType dtype) {
  if (x.dtype == dtype) return x;
  if (dtype == DType::kBool) {
    const CpuScalar zero = is_float(x.dtype) ? number(0.0, x.dtype) : integer(0, x.dtype);
    return compare(Comparison::kNe, x, zero);
  }
  return is_float(dtype) ? cast_to_float(x, dtype) : cast_to_integer(x, dtype);
}

CpuScalar LlvmScalars::cast_to_float(CpuScalar x, DType dtype) {
  if (is_integer_or_bool(x.dtype)) {
    // To a narrow float by way of f64, which holds all integers up to 53 bits.
    const DType first = is_narrow_float(dtype) ? DType::kF64 : dtype;
    llvm::Value* value = is_signed(x.dtype) ? builder_.CreateSIToFP(raw(x), register_type(first))
                                            : builder_.CreateUIToFP(raw(x), register_type(first));
    return cast({value, first}, dtype);
  }
  llvm::Value* value = raw(x);
  if (dtype == DType::kF64) return {builder_.CreateFPExt(value, builder_.getDoubleTy()), dtype};
  if (x.dtype == DType::kF64) {
    value = is_narrow_float(dtype) ? truncate_to_odd(builder_, value)
                                   : builder_.CreateFPTrunc(value, builder_.getFloatTy());
  }
  return {is_narrow_float(dtype) ? round_to_format(builder_, value, dtype) : value, dtype};
}

CpuScalar LlvmScalars::cast_to_integer(CpuScalar x, DType dtype) {
  llvm::Type* type = register_type(dtype);
  if (is_integer_or_bool(x.dtype)) {
    return {builder_.CreateIntCast(raw(x), type, is_signed(x.dtype)), dtype};
  }
  const auto id = is_signed(dtype) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  return {builder_.CreateIntrinsic(id, {type, raw(x)->getType()}, {raw(x)}), dtype};
}

}  // namespace tilewire

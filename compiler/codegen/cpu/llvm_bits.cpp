#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/cpu/llvm_formats.h"
#include "compiler/codegen/cpu/llvm_rounding.h"
#include "compiler/codegen/cpu/llvm_scalars.h"

namespace tilewire {

CpuScalar LlvmScalars::shift_left(CpuScalar x, CpuScalar amount) {
  const CpuScalar limit = integer(8 * num_bytes(x.dtype) - 1, x.dtype);
  llvm::Value* clamped =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, llvm_value(amount), llvm_value(limit));
  llvm::Value* shifted = builder_.CreateShl(llvm_value(x), clamped);
  llvm::Value* is_within = builder_.CreateICmpULE(llvm_value(amount), llvm_value(limit));
  return {builder_.CreateSelect(is_within, shifted, llvm_value(integer(0, x.dtype))), x.dtype};
}

CpuScalar LlvmScalars::shift_right(CpuScalar x, CpuScalar amount) {
  const CpuScalar limit = integer(8 * num_bytes(x.dtype) - 1, x.dtype);
  llvm::Value* clamped =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, llvm_value(amount), llvm_value(limit));
  if (is_signed(x.dtype)) return {builder_.CreateAShr(llvm_value(x), clamped), x.dtype};
  llvm::Value* shifted = builder_.CreateLShr(llvm_value(x), clamped);
  llvm::Value* is_within = builder_.CreateICmpULE(llvm_value(amount), llvm_value(limit));
  return {builder_.CreateSelect(is_within, shifted, llvm_value(integer(0, x.dtype))), x.dtype};
}

CpuScalar LlvmScalars::popcount(CpuScalar x) { return exact(llvm::Intrinsic::ctpop, x); }

CpuScalar LlvmScalars::leading_zeros(CpuScalar x) {
  llvm::Value* zeros =
      builder_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, llvm_value(x), builder_.getFalse());
  return {zeros, x.dtype};
}

CpuScalar LlvmScalars::bitcast(CpuScalar x, DType dtype) {
  return from_memory(builder_.CreateBitCast(to_memory(x), memory_type(dtype)), dtype);
}

CpuScalar LlvmScalars::cast_rounded(CpuScalar x, DType dtype, Rounding rounding, bool saturates) {
  llvm::Value* value = llvm_value(x);
  if (dtype == DType::kF64) return cast(x, dtype);
  if (x.dtype == DType::kF64) {
    value = dtype == DType::kF32 ? round_to_f32(builder_, value, rounding)
                                 : truncate_to_odd(builder_, value);
  }
  return {round_to_format(builder_, value, dtype, rounding, saturates), dtype};
}

}  // namespace tilewire

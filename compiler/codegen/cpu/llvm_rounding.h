#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/codegen/cpu/scalar_emitter.h"
#include "compiler/ir/dtype.h"

namespace tilewire {

/// A value of `dtype` (bf16, f16, e4m3, e5m2; f32: for what saturates) next to an f32, as an f32,
/// by the rules of `ScalarEmitter::cast_rounded`. Vectorises. The device's is
/// `templates/tilewire/rounding.cuh`.
llvm::Value* round_to_format(llvm::IRBuilder<>& builder, llvm::Value* f32, DType dtype,
                             Rounding rounding, bool saturates);

/// f64 → f32 in a direction.
llvm::Value* round_to_f32(llvm::IRBuilder<>& builder, llvm::Value* f64, Rounding rounding);

}  // namespace tilewire

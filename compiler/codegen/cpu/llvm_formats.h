#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/ir/dtype.h"

namespace tilewire {

// The floats of 8 and 16 bits, by integer arithmetic on f32: what LLVM would make of its own types
// calls a library function per element on most processors, or flushes subnormals. All of it
// vectorises.

/// True for bf16, f16, e4m3, e5m2: held as f32 in registers.
bool is_narrow_float(DType dtype);

/// The nearest value of `dtype` to an f32, ties to even, as an f32. NaN stays NaN; too large values
/// become infinity, or ±448 in e4m3, which has none.
llvm::Value* round_to_format(llvm::IRBuilder<>& builder, llvm::Value* f32, DType dtype);

/// The bits, as i16 or i8, of an f32 that is a value of `dtype`.
llvm::Value* encode_format(llvm::IRBuilder<>& builder, llvm::Value* f32, DType dtype);

/// The f32 with the value of these bits. A NaN keeps its payload, there and back.
llvm::Value* decode_format(llvm::IRBuilder<>& builder, llvm::Value* bits, DType dtype);

/// A NaN with the bit set that every format has room for.
llvm::Value* quiet(llvm::IRBuilder<>& builder, llvm::Value* f32_nan);

/// f64 → f32 such that rounding the result further to a narrow format rounds once: an inexact
/// result has an odd last bit (round to odd: S. Boldo, G. Melquiond, 2008).
llvm::Value* truncate_to_odd(llvm::IRBuilder<>& builder, llvm::Value* f64);

}  // namespace tilewire

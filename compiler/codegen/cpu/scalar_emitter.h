#pragma once

#include <cstdint>

#include "compiler/ir/dtype.h"

namespace tilewire {

/// A scalar, or one element of a tile, in the code under construction. bf16, f16, e4m3 and e5m2 are
/// held as f32 there, always with a value that the dtype has.
struct CpuScalar {
  void* handle = nullptr;  ///< the code generator's
  DType dtype = DType::kI64;
};

/// How a cast to a narrower float picks one of the two neighbours.
enum class Rounding : std::uint8_t { kNearest, kTowardZero, kUp, kDown };

enum class Comparison : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };

/// Makes scalar code. Operands of a binary operation have one dtype.
///
/// Integers wrap around; nothing traps. Operations on bf16 and f16 give f32, not yet rounded:
/// `cast` rounds (the emitter casts each op's result to the dtype that the IR gives it).
class ScalarEmitter {
 public:
  virtual ~ScalarEmitter() = default;

  /// Of any integer dtype, or bool.
  virtual CpuScalar integer(std::int64_t value, DType dtype = DType::kI64) = 0;
  /// Of any float dtype; rounded to it.
  virtual CpuScalar number(double value, DType dtype) = 0;

  virtual CpuScalar add(CpuScalar a, CpuScalar b) = 0;
  virtual CpuScalar sub(CpuScalar a, CpuScalar b) = 0;
  virtual CpuScalar mul(CpuScalar a, CpuScalar b) = 0;
  virtual CpuScalar div(CpuScalar a, CpuScalar b) = 0;        ///< floats
  virtual CpuScalar floor_div(CpuScalar a, CpuScalar b) = 0;  ///< Python's; an integer by 0 gives 0
  virtual CpuScalar mod(CpuScalar a, CpuScalar b) = 0;        ///< Python's; an integer by 0 gives 0
  virtual CpuScalar minimum(CpuScalar a, CpuScalar b) = 0;    ///< NaN wins
  virtual CpuScalar maximum(CpuScalar a, CpuScalar b) = 0;    ///< NaN wins
  /// As `add`, in any order of a whole sum: what a reduction may be vectorised with.
  virtual CpuScalar accumulate(CpuScalar sum, CpuScalar x) = 0;

  virtual CpuScalar bit_and(CpuScalar a, CpuScalar b) = 0;  ///< integers, bool
  virtual CpuScalar bit_or(CpuScalar a, CpuScalar b) = 0;
  virtual CpuScalar bit_xor(CpuScalar a, CpuScalar b) = 0;
  virtual CpuScalar bit_not(CpuScalar x) = 0;

  /// An amount that, taken as unsigned, is at least the width shifts everything out.
  virtual CpuScalar shift_left(CpuScalar x, CpuScalar amount) = 0;
  virtual CpuScalar shift_right(CpuScalar x, CpuScalar amount) = 0;  ///< by the dtype's sign
  virtual CpuScalar popcount(CpuScalar x) = 0;
  virtual CpuScalar leading_zeros(CpuScalar x) = 0;         ///< of 0: the width
  virtual CpuScalar bitcast(CpuScalar x, DType dtype) = 0;  ///< of the same width

  virtual CpuScalar compare(Comparison comparison, CpuScalar a, CpuScalar b) = 0;
  virtual CpuScalar select(CpuScalar condition, CpuScalar a, CpuScalar b) = 0;

  virtual CpuScalar neg(CpuScalar x) = 0;
  virtual CpuScalar abs(CpuScalar x) = 0;
  virtual CpuScalar floor(CpuScalar x) = 0;
  virtual CpuScalar ceil(CpuScalar x) = 0;
  virtual CpuScalar round(CpuScalar x) = 0;  ///< halfway to even
  virtual CpuScalar trunc(CpuScalar x) = 0;
  virtual CpuScalar sqrt(CpuScalar x) = 0;
  virtual CpuScalar rsqrt(CpuScalar x) = 0;
  virtual CpuScalar exp(CpuScalar x) = 0;
  virtual CpuScalar exp2(CpuScalar x) = 0;
  virtual CpuScalar log(CpuScalar x) = 0;
  virtual CpuScalar log2(CpuScalar x) = 0;
  virtual CpuScalar sin(CpuScalar x) = 0;
  virtual CpuScalar cos(CpuScalar x) = 0;
  virtual CpuScalar pow(CpuScalar a, CpuScalar b) = 0;
  virtual CpuScalar tanh(CpuScalar x) = 0;
  virtual CpuScalar erf(CpuScalar x) = 0;
  virtual CpuScalar sigmoid(CpuScalar x) = 0;
  virtual CpuScalar fma(CpuScalar a, CpuScalar b, CpuScalar c) = 0;  ///< a · b + c, rounded once

  /// To a float: to nearest even with one rounding; e4m3 saturates, others overflow to infinity.
  /// Float to integer: towards zero, saturating, NaN gives 0. To bool: whether it is not 0.
  virtual CpuScalar cast(CpuScalar x, DType dtype) = 0;
  /// Float to float. `saturates`: what is too large, infinity too, becomes the largest number;
  /// else infinity, or NaN in e4m3, which has none. A direction that leads back from the edge gives
  /// the largest number in any case.
  virtual CpuScalar cast_rounded(CpuScalar x, DType dtype, Rounding rounding, bool saturates) = 0;
};

}  // namespace tilewire

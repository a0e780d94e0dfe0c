#pragma once

#include <cstdint>

#include "compiler/ir/program.h"

namespace tilewire {

/// A `matmul`: [batch, rows, depth] · [batch, depth, columns]. An operand that is transposed has
/// its last two dimensions the other way round.
struct Matmul {
  const Value* left = nullptr;
  const Value* right = nullptr;
  const Value* acc = nullptr;  ///< null: 0
  bool left_is_transposed = false;
  bool right_is_transposed = false;
  bool is_tf32 = false;  ///< f32 operands are rounded to tf32
  /// fp8, which tensor cores sum in fewer bits than f32 has: what they sum, a slot of a ring at
  /// most, is added to `acc` by others.
  bool is_exact_fp8 = false;
  std::int64_t batch = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;

  static Matmul of(const Statement& statement);
};

/// Whether the tensor cores compute it.
bool is_on_tensor_cores(const Matmul& product);

/// Where K stands in an operand of rank 2: the left one (`place` 0) or the right one.
std::size_t depth_dimension(std::size_t place, bool is_transposed);

/// The dtype that products of `left` and `right` are summed in: f64 for f64, i32 for 8-bit
/// integers, f32 for other floats. False where they don't multiply: 8-bit integers and fp8 mix
/// among themselves, all others are of one dtype.
bool product_dtype(DType left, DType right, DType& sum);

}  // namespace tilewire

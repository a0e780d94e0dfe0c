#include "compiler/codegen/cpu/llvm_emitter.h"
#include "compiler/ops/matmul.h"

namespace tilewire {
namespace {

constexpr std::int64_t kMaxUnrolled = 8;

/// The largest power of two that divides n, kMaxUnrolled at most.
std::int64_t unrolled(std::int64_t n) {
  std::int64_t steps = kMaxUnrolled;
  while (n % steps != 0) steps /= 2;
  return steps;
}

/// An index into a tile of rank 2, or of rank 3 with the batch first.
CpuIndex matrix_index(const Type& tile, CpuScalar batch, CpuScalar first, CpuScalar second,
                      bool is_transposed) {
  CpuIndex index;
  if (tile.rank() == 3) index.push_back(batch);
  index.push_back(is_transposed ? second : first);
  index.push_back(is_transposed ? first : second);
  return index;
}

}  // namespace

/// To tf32 as the tensor cores' conversion does it: to nearest, ties away from 0.
CpuScalar LlvmEmitter::round_to_tf32(CpuScalar x) {
  llvm::Value* value = llvm_value(x);
  llvm::Value* bits = builder_.CreateBitCast(value, builder_.getInt32Ty());
  bits = builder_.CreateAdd(bits, builder_.getInt32(0x1000));
  bits = builder_.CreateAnd(bits, builder_.getInt32(~std::uint32_t{0x1fff}));
  llvm::Value* rounded = builder_.CreateBitCast(bits, value->getType());
  llvm::Value* is_nan = builder_.CreateFCmpUNO(value, value);
  return {builder_.CreateSelect(is_nan, value, rounded), x.dtype};
}

/// sum + a · b; floats in one rounding where the processor has it.
llvm::Value* LlvmEmitter::multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum) {
  if (a->getType()->isIntegerTy()) return builder_.CreateAdd(builder_.CreateMul(a, b), sum);
  return builder_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, sum});
}

/// Both operands are written to the arena in the dtype of the sums, the right one with its columns
/// innermost; then rows of the result gather rows of it, so that the inner loop runs over
/// neighbours.
void LlvmEmitter::matmul(const Statement& statement, const Matmul& product) {
  const Value* result = statement.result();
  const Type& type = result->type;
  const DType dtype = type.dtype;
  const auto arranged = [&](const Value* operand, std::int64_t first, std::int64_t second,
                            bool is_transposed) {
    const Type copy = Type::tile(dtype, {product.batch, first, second});
    const std::int64_t offset = allocate(copy);
    write_elements(offset, copy, [&](ScalarEmitter& scalars, const CpuIndex& index) {
      const CpuScalar x = scalars.cast(
          element(operand,
                  matrix_index(operand->type, index[0], index[1], index[2], is_transposed)),
          dtype);
      return product.is_tf32 ? round_to_tf32(x) : x;
    });
    return std::pair(copy, offset);
  };
  const auto [left, left_offset] =
      arranged(product.left, product.rows, product.depth, product.left_is_transposed);
  const auto [right, right_offset] =
      arranged(product.right, product.depth, product.columns, product.right_is_transposed);
  const std::int64_t offset = allocate(type);
  write_elements(offset, type, [&](ScalarEmitter& scalars, const CpuIndex& index) {
    if (product.acc != nullptr) return element(product.acc, index);
    return scalars.cast(scalars.integer(0), dtype);
  });

  const std::int64_t steps = unrolled(product.depth);
  const Type rows = Type::tile(dtype, {product.batch, product.rows, product.depth / steps});
  loops(rows, [&, left = left, right = right, left_offset = left_offset,
               right_offset = right_offset](const CpuIndex& index) {
    std::vector<CpuScalar> depths;
    std::vector<CpuScalar> factors;
    for (std::int64_t step = 0; step < steps; ++step) {
      llvm::Value* first = builder_.CreateMul(llvm_value(index[2]), index_constant(steps));
      depths.push_back(as_index(builder_.CreateAdd(first, index_constant(step))));
      factors.push_back(load_arena(left_offset, left, {index[0], index[1], depths.back()}));
    }
    loop(index_constant(0), index_constant(product.columns), index_constant(1), {},
         [&](llvm::Value* column, const Values&) {
           const CpuIndex target = matrix_index(type, index[0], index[1], as_index(column), false);
           llvm::Value* sum = llvm_value(load_arena(offset, type, target));
           for (std::size_t i = 0; i < depths.size(); ++i) {
             const CpuScalar x =
                 load_arena(right_offset, right, {index[0], depths[i], as_index(column)});
             sum = multiply_add(llvm_value(factors[i]), llvm_value(x), sum);
           }
           store_arena(offset, type, target, {sum, dtype});
           return Values();
         });
  });
  arena_.release(left_offset);
  arena_.release(right_offset);
  Tile tile;
  tile.offset = offset;
  tile.same_position = {offset};
  tiles_[result] = std::move(tile);
}

}  // namespace tilewire

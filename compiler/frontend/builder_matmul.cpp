#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/frontend/builder.h"
#include "compiler/ops/matmul.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr std::int64_t kBlockBytes = 128;  // along K, where nobody says how many

/// Takes a transposition of the last two dimensions off an operand, a tile or a view: products
/// read it either way.
Value* untransposed(Value* operand, bool& is_transposed) {
  const Statement* made = operand->definition;
  if (made == nullptr || !(made->is("transpose") || made->is("permute"))) return operand;
  const std::vector<std::int64_t>& order = made->integers(made->is("transpose") ? "axes" : "order");
  const bool is_last_two =
      order == std::vector<std::int64_t>{1, 0} || order == std::vector<std::int64_t>{0, 2, 1};
  if (!is_last_two) return operand;
  is_transposed = !is_transposed;
  return made->operands[0];
}

}  // namespace

Value* Builder::matmul(Value* a, Value* b, const MatmulOptions& given) {
  if (a->type.is_view() && b->type.is_view()) return matmul_of_views(a, b, given);
  const bool has_view = a->type.is_view() || b->type.is_view();
  if (!has_view && (given.block_k != 0 || given.stages != 0 || given.other)) {
    fail("matmul: block_k=, stages= and other= are for views; a and b are tiles");
  }
  if (given.block_k != 0) {
    fail(fmt::format("matmul: block_k= is for two views, found {} and {}", a->type.to_string(),
                     b->type.to_string()));
  }
  MatmulOptions options = given;
  if (has_view) {  // the tile beside it has all of K
    Value*& view = a->type.is_view() ? a : b;
    require_static_shape("matmul", view);
    view = untransposed(view, view == a ? options.transpose_a : options.transpose_b);
    view = load(view, std::exchange(options.other, std::nullopt));
  }
  return matmul_of_tiles(a, b, options);
}

Value* Builder::matmul_of_tiles(Value* a, Value* b, const MatmulOptions& options) {
  if (!a->type.is_tile() || !b->type.is_tile()) {
    fail(fmt::format("matmul: takes tiles or views, found {} and {}", a->type.to_string(),
                     b->type.to_string()));
  }
  bool transpose_a = options.transpose_a;
  bool transpose_b = options.transpose_b;
  a = untransposed(a, transpose_a);
  b = untransposed(b, transpose_b);
  DType sum = DType::kF32;
  if (!product_dtype(a->type.dtype, b->type.dtype, sum) && is_float(a->type.dtype) &&
      is_float(b->type.dtype)) {
    const DType common = common_dtype(a->type.dtype, b->type.dtype);
    a = cast(a, common);
    b = cast(b, common);
  }
  Values operands = {a, b};
  if (options.acc != nullptr) operands.push_back(options.acc);
  const bool has_choice =
      a->type.dtype == DType::kF32 || (is_fp8(a->type.dtype) && options.precision == "fast");
  Attributes attributes = {{"precision", std::string(has_choice ? options.precision : "ieee")}};
  if (options.stages != 0) attributes.emplace("stages", std::int64_t{options.stages});
  if (transpose_a) attributes.emplace("transpose_a", true);
  if (transpose_b) attributes.emplace("transpose_b", true);
  return emit("matmul", std::move(operands), std::move(attributes))->result();
}

/// A loop over blocks of K, each loaded and multiplied.
Value* Builder::matmul_of_views(Value* a, Value* b, const MatmulOptions& given) {
  MatmulOptions options = given;
  a = untransposed(a, options.transpose_a);
  b = untransposed(b, options.transpose_b);
  if (a->type.rank() != 2 || b->type.rank() != 2) {
    fail(fmt::format(
        "matmul: views have rank 2, found {} and {}; take one batch of each in a loop, like "
        "a[i, :, :], or tiles of all, tw.load(a[…])",
        a->type.to_string(), b->type.to_string()));
  }
  const std::size_t a_depth = depth_dimension(0, options.transpose_a);
  const std::size_t b_depth = depth_dimension(1, options.transpose_b);
  const std::int64_t rows = a->type.shape[1 - a_depth];
  const std::int64_t columns = b->type.shape[1 - b_depth];
  for (const auto& [extent, name, view] : {std::tuple(rows, "M", a), std::tuple(columns, "N", b)}) {
    if (extent != kDynamic) continue;
    fail(
        fmt::format("matmul: {} of {} is known only at run time, a result's shape is static; take "
                    "a part of it with tw.ds(start, size), or make the extent a tw.const",
                    name, view->type.to_string()));
  }
  const std::int64_t a_size = a->type.shape[a_depth];
  const std::int64_t b_size = b->type.shape[b_depth];
  if (a_size != kDynamic && b_size != kDynamic && a_size != b_size) {
    fail(fmt::format("matmul: a [M, K] · b [K, N] needs one K, found {} and {}", a_size, b_size));
  }
  const std::int64_t size = std::max(a_size, b_size);
  std::int64_t block = options.block_k;
  if (block < 0) fail(fmt::format("matmul: block_k={} must be positive", block));
  if (block == 0) block = kBlockBytes / num_bytes(a->type.dtype);
  if (size != kDynamic) block = std::min(block, size);

  DType sum = DType::kF32;
  if (!product_dtype(a->type.dtype, b->type.dtype, sum)) {
    sum = common_dtype(a->type.dtype, b->type.dtype) == DType::kF64 ? DType::kF64 : DType::kF32;
  }
  Value* depth = extent(a, static_cast<int>(a_depth));
  const bool is_whole = size != kDynamic && size % block == 0;
  // What lies past the end of K counts for nothing, whatever `other` is.
  const auto load_block = [&](Value* view, std::size_t dimension, Value* start) {
    std::vector<Index> indices(2, Index::all());
    indices[dimension] = Index::ds(start, block);
    Value* tile = load(slice(view, indices), options.other);
    if (!options.other || is_whole) return tile;
    std::vector<std::int64_t> shape = {1, 1};
    shape[dimension] = block;
    Value* position = binary("add", cast(arange(0, block), kIndex), start);
    Value* exists = reshape(binary("lt", position, depth), shape);
    return where(exists, tile, std::int64_t{0});
  };
  MatmulOptions inner = options;
  const Operand initial = options.acc != nullptr ? options.acc : zeros({rows, columns}, sum);
  return for_range(std::int64_t{0}, depth, block, {initial},
                   [&](Value* start, const Values& carried) -> std::vector<Operand> {
                     inner.acc = carried[0];
                     return {matmul_of_tiles(load_block(a, a_depth, start),
                                             load_block(b, b_depth, start), inner)};
                   })
      .at(0);
}

}  // namespace tilewire

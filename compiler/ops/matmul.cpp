#include "compiler/ops/matmul.h"

#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/common_ring.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/staging.h"
#include "templates/tilewire/mma_layout.cuh"

namespace tilewire {
namespace {

bool is_byte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

/// The extent `from_end` places before the last, the last two exchanged where transposed.
std::int64_t extent(const Type& tile, std::size_t from_end, bool is_transposed) {
  const std::size_t place = is_transposed ? 1 - from_end : from_end;
  return tile.shape[tile.shape.size() - 1 - place];
}

/// `: take b.T`, where operands whose depths differ would then fit; else nothing.
std::string which_to_transpose(const Type& left, bool left_is_transposed, const Type& right,
                               bool right_is_transposed) {
  if (left_is_transposed || right_is_transposed) return "";
  const bool left_fits = extent(left, 1, false) == extent(right, 1, false);
  const bool right_fits = extent(left, 0, false) == extent(right, 0, false);
  const bool has_batches = left.rank() == 3;
  const std::string_view a = has_batches ? "transpose_a=True" : "a.T";
  const std::string_view b = has_batches ? "transpose_b=True" : "b.T";
  if (left_fits && right_fits) return fmt::format(": take {} or {}", a, b);
  return left_fits || right_fits ? fmt::format(": take {}", left_fits ? a : b) : "";
}

std::vector<Type> infer_matmul(const OpCall& call) {
  const Type& left = require_tile(call, 0);
  const Type& right = require_tile(call, 1);
  const bool left_is_transposed = flag_attribute(call, "transpose_a");
  const bool right_is_transposed = flag_attribute(call, "transpose_b");
  const auto shapes = [&] {
    return fmt::format("{}{} and {}{}", shape_to_string(left.shape),
                       left_is_transposed ? " (transposed)" : "", shape_to_string(right.shape),
                       right_is_transposed ? " (transposed)" : "");
  };
  if (left.rank() != right.rank() || left.rank() < 2 || left.rank() > 3) {
    call.fail(fmt::format("takes two tiles of rank 2, or of rank 3 with batches first; found {}",
                          shapes()));
  }
  if (extent(left, 0, left_is_transposed) != extent(right, 1, right_is_transposed)) {
    call.fail(
        fmt::format("a [M, K] · b [K, N] needs one K; the shapes are {}{}", shapes(),
                    which_to_transpose(left, left_is_transposed, right, right_is_transposed)));
  }
  if (left.rank() == 3 && left.shape[0] != right.shape[0]) {
    call.fail(fmt::format("the numbers of batches differ: the shapes are {}", shapes()));
  }
  DType sum = DType::kF32;
  if (!product_dtype(left.dtype, right.dtype, sum)) {
    call.fail(fmt::format(
        "multiplies f16, bf16, fp8, f32, f64 or 8-bit integers, found {} and {}; cast them",
        name_of(left.dtype), name_of(right.dtype)));
  }
  if (text_attribute(call, "precision") == "tf32" && left.dtype != DType::kF32) {
    call.fail(fmt::format("precision=\"tf32\" is for f32, found {}", name_of(left.dtype)));
  }
  if (text_attribute(call, "precision") == "fast" && !is_fp8(left.dtype)) {
    call.fail(fmt::format("precision=\"fast\" is for fp8, found {}", name_of(left.dtype)));
  }
  require_one_of(call, "precision", {"tf32", "ieee", "fast"});
  std::vector<std::int64_t> shape = {extent(left, 1, left_is_transposed),
                                     extent(right, 0, right_is_transposed)};
  if (left.rank() == 3) shape.insert(shape.begin(), left.shape[0]);
  const Type result = Type::tile(sum, shape);
  if (call.operands.size() == 3) {
    if (call.operands[2].is_scalar()) {
      call.fail(fmt::format("acc= is a scalar; begin with a tile: tw.zeros({}, tw.{})",
                            shape_to_string(shape), name_of(sum)));
    }
    const Type& acc = require_tile(call, 2);
    if (acc.dtype != sum || acc.shape != shape) {
      call.fail(fmt::format("acc= is {} of shape {}; the product is {} of shape {}",
                            name_of(acc.dtype), shape_to_string(acc.shape), name_of(sum),
                            shape_to_string(shape)));
    }
  }
  return {result};
}

void emit_cpu_matmul(const Statement& statement, CpuEmitter& emitter) {
  emitter.matmul(statement, Matmul::of(statement));
}

int matmul_shared_bytes(const Statement& statement, int) {
  if (is_staged(statement) || is_ahead(statement)) return 0;
  const Matmul product = Matmul::of(statement);
  const int result_bytes = num_bytes(statement.result()->type.dtype);
  int element_bytes = num_bytes(product.left->type.dtype);
  if (!is_on_tensor_cores(product)) {
    element_bytes = result_bytes;
  } else if (is_fp8(product.left->type.dtype)) {
    element_bytes = num_bytes(DType::kF16);  // what fp8 becomes on tensor cores that have none
  }
  return device::product_bytes(static_cast<int>(product.rows), static_cast<int>(product.columns),
                               static_cast<int>(product.depth), element_bytes, result_bytes);
}

void emit_matmul_cuda(const Statement& statement, CudaEmitter& emitter) {
  if (is_staged(statement)) return emit_staged_product_cuda(statement, emitter);
  if (is_ahead(statement)) return emit_product_ahead_cuda(statement, emitter);
  const Matmul product = Matmul::of(statement);
  const Value* result = statement.result();
  emitter.include("matmul.cuh");
  std::string shape =
      fmt::format("tw::Product<{}, {}, {}, {}", product.batch, emitter.size(product.rows),
                  emitter.size(product.columns), emitter.size(product.depth));
  if (product.left_is_transposed || product.right_is_transposed) {
    shape += fmt::format(", {}, {}", product.left_is_transposed, product.right_is_transposed);
  }
  const std::string acc = product.acc != nullptr
                              ? emitter.argument(product.acc)
                              : fmt::format("{}{{}}", device_type(result->type.dtype));
  emitter.define_here(result,
                      fmt::format("tw::matmul{}<{}, {}>>({}, {}, {}, {})",
                                  is_on_tensor_cores(product) ? "" : "_plain",
                                  emitter.type(result->type), shape, emitter.argument(product.left),
                                  emitter.argument(product.right), acc, emitter.shared(statement)),
                      "product");
}

}  // namespace

bool is_on_tensor_cores(const Matmul& product) {
  const DType dtype = product.left->type.dtype;
  return dtype != DType::kF64 && (dtype != DType::kF32 || product.is_tf32);
}

std::size_t depth_dimension(std::size_t place, bool is_transposed) {
  return (place == 0) != is_transposed ? 1 : 0;
}

bool product_dtype(DType left, DType right, DType& sum) {
  if (is_byte(left) && is_byte(right)) {
    sum = DType::kI32;
    return true;
  }
  sum = left == DType::kF64 ? DType::kF64 : DType::kF32;
  return is_float(left) && (left == right || (is_fp8(left) && is_fp8(right)));
}

Matmul Matmul::of(const Statement& statement) {
  Matmul product;
  product.left = statement.operands.at(0);
  product.right = statement.operands.at(1);
  product.acc = statement.operands.size() > 2 ? statement.operands[2] : nullptr;
  product.left_is_transposed = statement.flag("transpose_a");
  product.right_is_transposed = statement.flag("transpose_b");
  const Type& left = product.left->type;
  product.is_tf32 = statement.text("precision") == "tf32";
  product.is_exact_fp8 = is_fp8(left.dtype) && statement.text("precision") != "fast";
  product.batch = left.rank() == 3 ? left.shape[0] : 1;
  product.rows = extent(left, 1, product.left_is_transposed);
  product.depth = extent(left, 0, product.left_is_transposed);
  product.columns = extent(product.right->type, 0, product.right_is_transposed);
  return product;
}

OpInfo matmul_op() {
  OpInfo op;
  op.name = "matmul";
  op.summary =
      "acc + a · b of tiles [M, K] and [K, N], with batches in front where the rank is 3. Summed "
      "in f32; f64 in f64, 8-bit integers in i32.";
  op.min_operands = 2;
  op.max_operands = 3;
  op.attributes = {
      {"precision", AttributeSpec::Kind::kText, true,
       "of f32: `tf32` or `ieee`; of fp8: `ieee` or `fast`; of others `ieee`"},
      {"ahead", AttributeSpec::Kind::kInteger, false,
       "operands come from the ring that all threads fill; the warpgroups that multiply"},
      {"staged", AttributeSpec::Kind::kBool, false, "operands come from the producer's ring"},
      {"held", AttributeSpec::Kind::kBool, false, "of those, the left one is in registers instead"},
      {"kept", AttributeSpec::Kind::kBool, false, "and read there again behind this product"},
      {"stages", AttributeSpec::Kind::kInteger, false, "slots of that ring, if that many fit"},
      {"transpose_a", AttributeSpec::Kind::kBool, false, "a is [K, M]"},
      {"transpose_b", AttributeSpec::Kind::kBool, false, "b is [N, K]"}};
  op.infer = infer_matmul;
  op.emit_cpu = emit_cpu_matmul;
  op.emit_cuda = emit_matmul_cuda;
  op.cuda_shared_bytes = matmul_shared_bytes;
  return op;
}

}  // namespace tilewire

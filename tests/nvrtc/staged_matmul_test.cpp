#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/files.h"
#include "tests/catch.h"
#include "tests/nvrtc/require.h"

using namespace tilewire;

namespace {

/// A product of two matrices out of shared memory. An operand's K is contiguous or not.
struct Product {
  int rows;
  int columns;
  int depth;
  int threads;
  int stages;
  std::string left = "bf16";
  std::string right = "bf16";
  std::string result = "bf16";
  bool left_by_depth = true;
  bool right_by_depth = true;
  int shares = 1;  ///< CTAs of a cluster that have the right operand in common
  std::string multiply = "multiply";
};

std::string element(const std::string& dtype) { return dtype == "float" ? dtype : "tw::" + dtype; }

std::string source_of(const Product& p) {
  const std::string constants = fmt::format(
      R"(
constexpr int kRows = {}, kColumns = {}, kDepth = {}, kThreads = {}, kStages = {}, kShares = {};
using T = {};
using Left = tw::StagedTile<{}, kRows, kDepth, {}>;
using Right = tw::StagedTile<{}, kColumns, kDepth, {}, kShares>;
)",
      p.rows, p.columns, p.depth, p.threads, p.stages, p.shares, element(p.result), element(p.left),
      p.left_by_depth, element(p.right), p.right_by_depth);
  return R"(
#include "tilewire/cast.cuh"
#include "tilewire/fragment_rows.cuh"
#include "tilewire/staged_matmul.cuh"
namespace tw = tilewire::device;
)" + constants +
         R"(
using Acc = tw::Tile<float, tw::Fragment<kRows, kColumns, kThreads>>;
extern "C" __global__ void __launch_bounds__(kThreads + 128, 1)
product(const __grid_constant__ tw::TensorMap a_map, const __grid_constant__ tw::TensorMap b_map,
        T* c, int64_t M, int64_t N, int K) {
  extern __shared__ __align__(1024) char shared[];
  using Ring = tw::Ring<kStages, Left::kBytes + Right::kBytes, kThreads, kShares>;
  char* const rows = shared + kStages * (Left::kBytes + Right::kBytes);
  Ring ring(shared, rows + tw::fragment_rows_bytes(kThreads));
  const int row = blockIdx.x * kRows, column = blockIdx.y * kColumns;
  if (tw::is_producer<kThreads>()) {
    tw::give_registers<kThreads>();
    if (tw::is_loader<kThreads>()) {
      #pragma unroll 1
      for (int k = 0; k < K; k += kDepth) {
        const auto slot = ring.fill();
        slot.load<Left, 0>(a_map, Left::kDepthIsContiguous ? k : row,
                           Left::kDepthIsContiguous ? row : k);
        slot.load<Right, Left::kBytes>(b_map, Right::kDepthIsContiguous ? k : column,
                                       Right::kDepthIsContiguous ? column : k);
      }
    }
  } else {
    tw::take_registers<kThreads>();
    Acc acc = tw::full<Acc>(0.0f);
    tw::prepare(acc);
    #pragma unroll 1
    for (int k = 0; k < K; k += kDepth) tw::)" +
         p.multiply + R"(<Left, Right>(acc, ring);
    tw::finish(acc, ring);
    tw::store_rows<16 / sizeof(T)>(
        tw::access(c + row * N + column, tw::masked_dim<kRows>(N, row, M),
                   tw::masked_dim<kColumns>(1, column, N)), tw::cast<T>(acc), rows);
  }
  ring.leave();
}
)";
}

/// Products run beside the threads: the assembler doesn't put them in a row ("C75…"), and no
/// accumulator has an address.
void check(const Product& product, const std::string& instruction) {
  const std::string source = source_of(product);
  INFO(source);
  const auto job = [&source](const std::string& architecture) {
    return CudaJob::of(source, "product.cu", architecture, NcclForm::kSlim).compile();
  };
  const auto result = job("sm_90a");
  CHECK(result.log == "");
  CHECK(result.cubin.size() > 1000);
  const std::string ptx = job("compute_90a").ptx;
  CHECK(ptx.find(instruction) != std::string::npos);
  CHECK(ptx.find("cp.async.bulk.tensor.2d") != std::string::npos);
  CHECK(ptx.find(".local") == std::string::npos);
}

}  // namespace

TEST_CASE("Products of staged operands run beside the threads") {
  TILEWIRE_REQUIRE_NVRTC();
  if (!nccl_headers_or_null()) return;
  check({128, 256, 64, 256, 4}, "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16");
  check({.rows = 128, .columns = 256, .depth = 64, .threads = 256, .stages = 4, .shares = 2},
        ".multicast::cluster");
  check({256, 96, 64, 256, 4, "f16", "f16", "float", false, false},
        "wgmma.mma_async.sync.aligned.m64n96k16.f32.f16.f16");
  check({192, 200, 32, 384, 4, "float", "float", "float"},
        "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32");
  check({16, 64, 256, 128, 5}, "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16");
  check({128, 256, 128, 256, 4, "e4m3", "e5m2"},
        "wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e5m2");
}

TEST_CASE("Products of bytes are summed up in f32") {
  TILEWIRE_REQUIRE_NVRTC();
  if (!nccl_headers_or_null()) return;
  check({.rows = 128,
         .columns = 256,
         .depth = 128,
         .threads = 256,
         .stages = 4,
         .left = "e5m2",
         .right = "e4m3",
         .multiply = "multiply_exactly"},
        "wgmma.mma_async.sync.aligned.m64n128k32.f32.e5m2.e4m3");
}

TEST_CASE("Products in goldens run beside the threads") {
  TILEWIRE_REQUIRE_NVRTC();
  if (!nccl_headers_or_null()) return;
  int num_goldens = 0;
  const std::string folder = TILEWIRE_SOURCE_DIR "/tests/codegen/golden/ops";
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    const std::string source = read_file(file.path()).value_or("");
    const bool is_held = source.find("tw::multiply_held<") != std::string::npos;
    if (!name.starts_with("staged_matmul") && !is_held) continue;
    const auto result = CudaJob::of(source, name, "sm_90a", NcclForm::kSlim).compile();
    INFO(name << ": " << result.log);
    CHECK(result.log.find("(C75") == std::string::npos);
    ++num_goldens;
  }
  CHECK(num_goldens > 0);
}

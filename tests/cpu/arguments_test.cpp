#include "runtime/cpu/arguments.h"

#include <bit>
#include <cmath>
#include <string>

#include "compiler/codegen/cpu/codegen.h"
#include "compiler/frontend/builder.h"
#include "compiler/jit/compile.h"
#include "compiler/support/error.h"
#include "runtime/cpu/virtual_world.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

/// y = x * factor, row by row; `H` is 4.
CpuKernel scale_kernel(bool any_strides) {
  const Target target = Target::parse("cpu");
  Builder b("scale", "scale.cpp", target);
  const Dimension rows{.size = kDynamic, .name = "T"};
  Value* x = b.tensor("x", DType::kF32, {rows, {4, {}}});
  Value* y = b.tensor("y", DType::kF32, {rows, {4, {}}});
  Value* factor = b.scalar("factor", DType::kF32);
  b.for_persistent(b.dimension("T"), {}, [&](Value* row, const Values&) {
    const std::vector<Index> of_row = {Index::at(row), Index::all()};
    b.store(b.slice(y, of_row), b.binary("mul", b.load(b.slice(x, of_row)), factor));
    return std::vector<Operand>{};
  });
  Program program = b.finish();
  if (!any_strides) program.facts = {{true, true, true}, {16, 16, 4}, {}, {}};
  enable_cpu_target();
  return CpuKernel(compile(std::move(program), target));
}

std::string message_of(const CpuKernel& kernel, const std::vector<HostArgument>& arguments) {
  try {
    pack_arguments(kernel.artifact(), arguments);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("host arguments are packed by their strides") {
  const CpuKernel kernel = scale_kernel(true);
  float x[3][8];
  for (int i = 0; i < 24; ++i) x[i / 8][i % 8] = static_cast<float>(i);
  float y[3][4];
  for (auto& row : y) std::fill(std::begin(row), std::end(row), NAN);
  HostTensor every_second(&x[0][1], {3, 4});
  every_second.strides = {8, 2};
  const std::vector<HostArgument> arguments = {every_second, HostTensor(&y[0][0], {3, 4}),
                                               HostScalar::of(0.5F)};
  const std::vector<std::vector<std::uint64_t>> of_rank = {
      pack_arguments(kernel.artifact(), arguments)};
  VirtualWorld(1, 1, 0).launch(kernel, 2, of_rank);
  for (int row = 0; row < 3; ++row) {
    for (int i = 0; i < 4; ++i) REQUIRE(y[row][i] == 0.5F * x[row][1 + 2 * i]);
  }
}

TEST_CASE("host arguments that don't fit are named") {
  const CpuKernel kernel = scale_kernel(false);
  alignas(16) float data[16] = {};
  const HostTensor good(data, {2, 4});
  const HostScalar two = HostScalar::of(2.0F);
  REQUIRE(message_of(kernel, {good, good, two}) == "no error");
  REQUIRE(message_of(kernel, {good, good}) == "kernel `scale` takes 3 arguments, got 2");
  REQUIRE(message_of(kernel, {good, two, two}) ==
          "kernel `scale`: argument `y`: expected a HostTensor, got another kind");
  REQUIRE(message_of(kernel, {good, good, HostScalar::of(2.0)}) ==
          "kernel `scale`: argument `factor`: expected elements of f32, got f64");
  REQUIRE(message_of(kernel, {good, HostTensor(data, {3, 4}), two}) ==
          "kernel `scale`: argument `y`: expected 2 elements in dimension 0, got 3");
  REQUIRE(message_of(kernel, {HostTensor(data, {2, 5}), good, two}) ==
          "kernel `scale`: argument `x`: expected 4 elements in dimension 1, got 5");
  REQUIRE(message_of(kernel, {HostTensor(data, {8}), good, two}) ==
          "kernel `scale`: argument `x`: expected rank 2, got 1");
  HostTensor transposed(data, {2, 4});
  transposed.strides = {1, 2};
  REQUIRE(message_of(kernel, {good, transposed, two}) ==
          "kernel `scale`: argument `y`: the kernel was compiled for a contiguous tensor");
  REQUIRE(message_of(kernel, {HostTensor(data + 1, {2, 4}), good, two}) ==
          "kernel `scale`: argument `x`: the kernel was compiled for an address that 16 divides");
}

TEST_CASE("element types of C++ types") {
  REQUIRE(dtype_of<bool>() == DType::kBool);
  REQUIRE(dtype_of<std::int8_t>() == DType::kI8);
  REQUIRE(dtype_of<std::uint64_t>() == DType::kU64);
  REQUIRE(dtype_of<double>() == DType::kF64);
  REQUIRE(HostScalar::of(-1).bits == 0xFFFFFFFFU);
  REQUIRE(HostScalar::of(1.0F).bits == std::bit_cast<std::uint32_t>(1.0F));
}

}  // namespace
}  // namespace tilewire

// RMS norm of the rows of a matrix, made with `tilewire::Builder`: run on the CPU target, and shown
// as CUDA for sm_90a. The same program in Python:
//
//   @tw.kernel
//   def rms_norm(x: tw.Tensor["T", "H"], gain: tw.Tensor["H"], y: tw.Tensor["T", "H"],
//                eps: tw.f32, *, H: tw.const):
//       for row in tw.persistent(T):
//           a = tw.load(x[row, :])
//           scale = tw.rsqrt(tw.sum(a * a) / H + eps)
//           tw.store(y[row, :], a * scale * tw.load(gain[:]))

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "compiler/codegen/cpu/codegen.h"
#include "compiler/frontend/builder.h"
#include "compiler/jit/compile.h"
#include "compiler/support/error.h"
#include "runtime/cpu/arguments.h"
#include "runtime/cpu/virtual_world.h"

namespace tw = tilewire;

namespace {

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kColumns = 1000;
constexpr float kEpsilon = 1e-6F;

tw::Program rms_norm(const tw::Target& target) {
  tw::Builder b("rms_norm", "rms_norm.cpp", target);
  b.constant_parameter("H", kColumns);
  const tw::Dimension rows{.size = tw::kDynamic, .name = "T"};
  const tw::Dimension columns{.size = tw::kDynamic, .name = "H"};  // static: H is a constant
  tw::Value* x = b.tensor("x", tw::DType::kF32, {rows, columns});
  tw::Value* gain = b.tensor("gain", tw::DType::kF32, {columns});
  tw::Value* y = b.tensor("y", tw::DType::kF32, {rows, columns});
  tw::Value* epsilon = b.scalar("eps", tw::DType::kF32);
  b.set_location(__LINE__ + 1, 3);
  b.for_persistent(b.dimension("T"), {}, [&](tw::Value* row, const tw::Values&) {
    b.name(row, "row");
    const std::vector<tw::Index> of_row = {tw::Index::at(row), tw::Index::all()};
    b.set_location(__LINE__ + 1, 5);
    tw::Value* a = b.name(b.load(b.slice(x, of_row)), "a");
    tw::Value* mean = b.binary("div", b.reduce("sum", b.binary("mul", a, a)), kColumns);
    tw::Value* scale = b.name(b.unary("rsqrt", b.binary("add", mean, epsilon)), "scale");
    tw::Value* weight = b.load(b.slice(gain, {tw::Index::all()}));
    b.set_location(__LINE__ + 1, 5);
    b.store(b.slice(y, of_row), b.binary("mul", b.binary("mul", a, scale), weight));
    return std::vector<tw::Operand>{};
  });
  tw::Program program = b.finish();
  // What these launches promise of their arguments; without it, any strides and addresses do.
  program.facts.contiguous.assign(program.parameters.size(), true);
  program.facts.alignment.assign(program.parameters.size(), 16);
  return program;
}

/// The largest error relative to a row's norm.
double run_on_cpu() {
  std::vector<float> x(kRows * kColumns), gain(kColumns), y(kRows * kColumns, NAN);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i)) * 3.0F;
  for (std::size_t i = 0; i < gain.size(); ++i) gain[i] = 0.5F + static_cast<float>(i % 7);

  tw::enable_cpu_target();
  const tw::Target target = tw::Target::parse("cpu");
  const tw::CpuKernel kernel(tw::compile(rms_norm(target), target));
  const std::vector<std::vector<std::uint64_t>> arguments = {tw::pack_arguments(
      kernel.artifact(),
      {tw::HostTensor(x.data(), {kRows, kColumns}), tw::HostTensor(gain.data(), {kColumns}),
       tw::HostTensor(y.data(), {kRows, kColumns}), tw::HostScalar::of(kEpsilon)})};
  tw::VirtualWorld(1, 1, 0).launch(kernel, /*grid=*/8, arguments);

  double worst = 0.0;
  for (std::size_t row = 0; row < kRows; ++row) {
    const float* values = x.data() + row * kColumns;
    double sum = 0.0;
    for (std::size_t i = 0; i < kColumns; ++i) sum += double{values[i]} * values[i];
    const double scale = 1.0 / std::sqrt(sum / kColumns + kEpsilon);
    for (std::size_t i = 0; i < kColumns; ++i) {
      const double error = std::fabs(y[row * kColumns + i] - values[i] * scale * gain[i]);
      worst = std::isnan(error) ? INFINITY : std::fmax(worst, error);
    }
  }
  return worst;
}

}  // namespace

int main() {
  try {
    const tw::Target gpu = tw::Target::parse("sm_90a");
    std::cout << tw::emit_stage(rms_norm(gpu), gpu, "cuda") << '\n';
    const double error = run_on_cpu();
    std::cout << "on the CPU target: the largest error is " << error << '\n';
    return error < 1e-4 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const tw::Error& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
}

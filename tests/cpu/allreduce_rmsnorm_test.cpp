#include <cmath>
#include <cstring>

#include "compiler/codegen/cpu/codegen.h"
#include "compiler/jit/compile.h"
#include "compiler/passes/lower.h"
#include "compiler/support/error.h"
#include "runtime/cpu/virtual_world.h"
#include "tests/catch.h"
#include "tests/cpu/numbers.h"
#include "tests/cpu/tile_program.h"

namespace tilewire {
namespace {

/// The kernel of the same name in examples/, over rows of `size` elements.
Program allreduce_rmsnorm(const Target& target, DType dtype, std::int64_t size,
                          bool misses_barrier = false) {
  Builder b("allreduce_rmsnorm", "allreduce_rmsnorm.py", target);
  Value* x = b.window("x", dtype, {{kDynamic, "T"}, {size, ""}});
  Value* gain = b.tensor("gain", dtype, {{size, ""}});
  Value* y = b.tensor("y", dtype, {{kDynamic, "T"}, {size, ""}});
  Value* eps = b.scalar("eps", DType::kF32);
  b.set_location(5, 5);
  b.barrier();
  b.set_location(6, 5);
  b.for_persistent(b.dimension("T"), {}, [&](Value* row, const Values&) {
    const Values sum =
        b.for_ranks({b.zeros({size}, DType::kF32)}, [&](Value* r, const Values& acc) {
          Value* part = b.load(b.slice(b.at(x, r), {Index::at(row), Index::all()}));
          return std::vector<Operand>{b.binary("add", acc[0], part)};
        });
    Value* squares = b.reduce("sum", b.binary("mul", sum[0], sum[0]));
    Value* mean = b.binary("div", squares, static_cast<double>(size));
    Value* scale = b.unary("rsqrt", b.binary("add", mean, eps));
    Value* scaled =
        b.binary("mul", b.binary("mul", sum[0], scale), b.load(b.slice(gain, {Index::all()})));
    b.store(b.slice(y, {Index::at(row), Index::all()}), scaled);
    return std::vector<Operand>{};
  });
  b.set_location(13, 5);
  if (misses_barrier) {
    b.if_(
        b.binary("ne", b.rank(), std::int64_t{1}),
        [&] {
          b.barrier();
          return std::vector<Operand>{};
        },
        [] { return std::vector<Operand>{}; });
  } else {
    b.barrier();
  }
  return b.finish();
}

Target cpu_target(int world_size, int lsa_size = 0) {
  Target target;
  target.world_size = world_size;
  target.lsa_size = lsa_size == 0 ? world_size : lsa_size;
  return target;
}

/// By the registered code generator, without the disk cache.
CpuKernel compiled(Program program, const Target& target) {
  enable_cpu_target();
  const Program lowered = lower(std::move(program), target);
  Artifact artifact = describe(lowered, target);
  artifact.source = cpu_codegen()->emit(lowered, artifact);
  artifact.binary = cpu_codegen()->compile(artifact.source);
  return CpuKernel(std::move(artifact));
}

/// Everything that the ranks of a world need to run the kernel, and its float64 reference.
struct Problem {
  Problem(VirtualWorld& world, DType dtype, std::int64_t rows, std::int64_t size)
      : dtype(dtype), rows(rows), size(size) {
    const auto count = static_cast<std::size_t>(rows * size);
    const auto num_bytes_per_rank = count * static_cast<std::size_t>(num_bytes(dtype));
    x = world.make_window(num_bytes_per_rank);
    std::mt19937_64 random(static_cast<std::uint64_t>(rows * 7 + size));
    gain_elements = moderate_elements(dtype, static_cast<std::size_t>(size), random);
    gain = pack(gain_elements, dtype);
    for (int rank = 0; rank < world.world_size(); ++rank) {
      x_elements.push_back(moderate_elements(dtype, count, random));
      const auto bytes = pack(x_elements.back(), dtype);
      std::memcpy(x->data(rank), bytes.data(), bytes.size());
      y.emplace_back(num_bytes_per_rank, std::byte{0xCD});
    }
  }

  std::vector<std::vector<std::uint64_t>> arguments(const Artifact& artifact) const {
    std::vector<std::vector<std::uint64_t>> of_ranks;
    for (const auto& own : y) {
      std::vector<std::uint64_t> slots;
      for (const ArgumentSlot& slot : artifact.arguments) slots.push_back(argument(slot, own));
      of_ranks.push_back(std::move(slots));
    }
    return of_ranks;
  }

  void check() const {
    for (std::int64_t row = 0; row < rows; ++row) {
      std::vector<double> sum(static_cast<std::size_t>(size), 0.0);
      std::vector<double> magnitude(sum.size(), 0.0);
      double squares = 0.0;
      for (std::size_t i = 0; i < sum.size(); ++i) {
        for (const Bits& elements : x_elements) {
          const double part = to_double(elements[static_cast<std::size_t>(row * size) + i], dtype);
          sum[i] += part;
          magnitude[i] += std::fabs(part);
        }
        squares += sum[i] * sum[i];
      }
      const double scale = 1.0 / std::sqrt(squares / static_cast<double>(size) + 1e-6);
      for (const auto& bytes : y) check_row(unpack(bytes, dtype), row, sum, magnitude, scale);
    }
  }

  DType dtype;
  std::int64_t rows;
  std::int64_t size;
  std::shared_ptr<HostWindow> x;
  std::vector<Bits> x_elements;
  Bits gain_elements;
  std::vector<std::byte> gain;
  std::vector<std::vector<std::byte>> y;

 private:
  std::uint64_t argument(const ArgumentSlot& slot, const std::vector<std::byte>& own) const {
    switch (slot.kind) {
      case ArgumentSlot::Kind::kTensor:
        return reinterpret_cast<std::uint64_t>(slot.index == 1 ? gain.data() : own.data());
      case ArgumentSlot::Kind::kWindow:
        return reinterpret_cast<std::uint64_t>(x->addresses());
      case ArgumentSlot::Kind::kScalar:
        return from_double(1e-6, DType::kF32);
      case ArgumentSlot::Kind::kExtent:
        return static_cast<std::uint64_t>(rows);
      case ArgumentSlot::Kind::kStride:
        return static_cast<std::uint64_t>(slot.index == 2 && slot.dimension == 0 ? size : 1);
      case ArgumentSlot::Kind::kDeviceComm:
      case ArgumentSlot::Kind::kLane:
      case ArgumentSlot::Kind::kCounters:
      case ArgumentSlot::Kind::kTensorMap:
        return 0;
    }
    return 0;
  }

  void check_row(const Bits& found, std::int64_t row, const std::vector<double>& sum,
                 const std::vector<double>& magnitude, double scale) const {
    const double stored = dtype == DType::kBF16 ? 0x1p-8 : dtype == DType::kF16 ? 0x1p-11 : 0.0;
    const double subnormal = dtype == DType::kF16 ? 0x1p-25 : 0.0;  // half of the smallest f16
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const double factor = scale * to_double(gain_elements[i], dtype);
      const double value = to_double(found[static_cast<std::size_t>(row * size) + i], dtype);
      const double tolerance = std::fabs(sum[i] * factor) * stored +
                               std::fabs(magnitude[i] * factor) * 0x1p-20 + subnormal;
      INFO("row " << row << ", element " << i);
      REQUIRE(std::fabs(value - sum[i] * factor) <= tolerance);
    }
  }
};

TEST_CASE("allreduce_rmsnorm in worlds of any size", "[cpu]") {
  for (const int world_size : {1, 2, 3, 4, 8}) {
    for (const DType dtype : {DType::kBF16, DType::kF16, DType::kF32}) {
      for (const std::int64_t size : {64, 1000}) {
        const Target target = cpu_target(world_size);
        const CpuKernel kernel = compiled(allreduce_rmsnorm(target, dtype, size), target);
        for (const std::int64_t grid : {1, 3, 9}) {  // fewer than, and more than, rows
          VirtualWorld world(world_size, world_size, static_cast<std::uint64_t>(grid));
          Problem problem(world, dtype, 7, size);
          world.launch(kernel, grid, problem.arguments(kernel.artifact()));
          problem.check();
        }
      }
    }
  }
}

TEST_CASE("allreduce_rmsnorm in a world of 12 and without rows", "[cpu]") {
  const Target target = cpu_target(12);  // above 8 ranks the loop over them stays
  const CpuKernel kernel = compiled(allreduce_rmsnorm(target, DType::kBF16, 96), target);
  VirtualWorld world(12, 12, 1);
  for (const std::int64_t rows : {0, 1, 33}) {
    Problem problem(world, DType::kBF16, rows, 96);
    world.launch(kernel, 4, problem.arguments(kernel.artifact()));
    problem.check();
  }
}

TEST_CASE("one kernel, many launches and seeds", "[cpu]") {
  const Target target = cpu_target(4);
  const CpuKernel kernel = compiled(allreduce_rmsnorm(target, DType::kBF16, 128), target);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    VirtualWorld world(4, 4, seed);
    Problem problem(world, DType::kBF16, 5, 128);
    const auto arguments = problem.arguments(kernel.artifact());
    for (int launch = 0; launch < 50; ++launch) {
      for (auto& y : problem.y) std::fill(y.begin(), y.end(), std::byte{0xCD});
      world.launch(kernel, 1 + launch % 6, arguments);
    }
    problem.check();
  }
}

TEST_CASE("equal bits on all ranks, whatever the seed", "[cpu]") {
  const Target target = cpu_target(3);
  const CpuKernel kernel = compiled(allreduce_rmsnorm(target, DType::kBF16, 500), target);
  std::vector<std::byte> first;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    VirtualWorld world(3, 3, seed);
    Problem problem(world, DType::kBF16, 6, 500);
    world.launch(kernel, 2, problem.arguments(kernel.artifact()));
    if (first.empty()) first = problem.y[0];
    for (const auto& y : problem.y) CHECK(y == first);
  }
}

TEST_CASE("a rank that misses a barrier is named with its line", "[cpu]") {
  const Target target = cpu_target(3);
  const CpuKernel kernel = compiled(allreduce_rmsnorm(target, DType::kBF16, 64, true), target);
  VirtualWorld world(3, 3, 0);
  Problem problem(world, DType::kBF16, 4, 64);
  try {
    world.launch(kernel, 2, problem.arguments(kernel.artifact()));
    FAIL("no HangError");
  } catch (const HangError& error) {
    CHECK(std::string(error.what()) ==
          "allreduce_rmsnorm.py:13: deadlock in `allreduce_rmsnorm` on 3 virtual ranks: no "
          "instance can go on\n"
          "  rank 0, programs 0-1: waits at allreduce_rmsnorm.py:13 in barrier(team=world) for "
          "rank 1, which has finished\n"
          "  rank 2, programs 0-1: waits at allreduce_rmsnorm.py:13 in barrier(team=world) for "
          "rank 1, which has finished");
  }
}

TEST_CASE("by way of compile, and as text", "[cpu]") {
  enable_cpu_target();
  const Target target = cpu_target(2);
  const CpuKernel kernel(compile(allreduce_rmsnorm(target, DType::kBF16, 64), target));
  VirtualWorld world(2, 2, 0);
  Problem problem(world, DType::kBF16, 3, 64);
  world.launch(kernel, 2, problem.arguments(kernel.artifact()));
  problem.check();

  const std::string text = emit_stage(allreduce_rmsnorm(target, DType::kBF16, 64), target, "llvm");
  CHECK(text == emit_stage(allreduce_rmsnorm(target, DType::kBF16, 64), target, "llvm"));
  CHECK_THAT(text, Catch::Matchers::Contains("call void @tilewire_lsa_barrier(ptr %instance"));
}

TEST_CASE("ranks out of reach are a compile error", "[cpu]") {
  const Target target = cpu_target(8, 4);
  CHECK_THROWS_WITH(compiled(allreduce_rmsnorm(target, DType::kBF16, 64), target),
                    Catch::Matchers::StartsWith("allreduce_rmsnorm.py:5: barrier: "));
}

/// y = x at a rank that only the launch knows.
TEST_CASE("a rank that doesn't exist is an error with its line", "[cpu]") {
  const Target target = cpu_target(4);
  Builder b("fetch", "fetch.py", target);
  Value* x = b.window("x", DType::kF32, {{8, ""}});
  Value* y = b.tensor("y", DType::kF32, {{8, ""}});
  Value* peer = b.scalar("peer", DType::kI64);
  b.set_location(3, 1);
  b.store(b.slice(y, {Index::all()}), b.load(b.slice(b.at(x, peer), {Index::all()})));
  const CpuKernel kernel = compiled(b.finish(), target);
  VirtualWorld world(4, 4, 0);
  const auto window = world.make_window(32);
  for (int rank = 0; rank < 4; ++rank) {
    const float value = 10.0F + static_cast<float>(rank);
    std::memcpy(window->data(rank), &value, 4);
  }
  std::vector<std::vector<float>> results(4, std::vector<float>(8, -1.0F));
  for (const std::int64_t peer_rank : {0, 3, 4, -1}) {
    std::vector<std::vector<std::uint64_t>> arguments;
    for (auto& result : results) {
      std::vector<std::uint64_t> slots;
      for (const ArgumentSlot& slot : kernel.artifact().arguments) {
        slots.push_back(slot.kind == ArgumentSlot::Kind::kWindow
                            ? reinterpret_cast<std::uint64_t>(window->addresses())
                        : slot.kind == ArgumentSlot::Kind::kTensor
                            ? reinterpret_cast<std::uint64_t>(result.data())
                        : slot.kind == ArgumentSlot::Kind::kScalar
                            ? static_cast<std::uint64_t>(peer_rank)
                            : 1);
      }
      arguments.push_back(std::move(slots));
    }
    if (peer_rank >= 0 && peer_rank < 4) {
      world.launch(kernel, 1, arguments);
      for (const auto& result : results) CHECK(result[0] == 10.0F + static_cast<float>(peer_rank));
    } else {
      CHECK_THROWS_WITH(
          world.launch(kernel, 1, arguments),
          Catch::Matchers::StartsWith("fetch.py:3: the world has no rank " +
                                      std::to_string(peer_rank) + ", ranks are 0 to 3"));
    }
  }
}

}  // namespace
}  // namespace tilewire

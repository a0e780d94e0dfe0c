#include <cstring>
#include <stdexcept>
#include <thread>

#include "compiler/codegen/cpu/codegen.h"
#include "compiler/jit/compile.h"
#include "compiler/ops/op.h"
#include "compiler/passes/lower.h"
#include "runtime/cpu/virtual_world.h"
#include "tests/catch.h"
#include "tests/cpu/tile_program.h"

namespace tilewire {
namespace {

Target cpu_target(int world_size, int lsa_size) {
  Target target;
  target.world_size = world_size;
  target.lsa_size = lsa_size;
  return target;
}

TEST_CASE("every op that is left after lowering for the CPU has code", "[cpu]") {
  for (const OpInfo& op : op_table()) {
    INFO(op.name);
    CHECK((op.emit_cpu != nullptr) == (op.stage != Stage::kFrontend && !op.is_for_cuda));
  }
}

/// Writes what each instance knows of itself, in a world of 2 teams of 4.
TEST_CASE("instances know their rank, team and place in the grid", "[cpu]") {
  Builder b("who", "who.py", cpu_target(8, 4));
  Value* y = b.tensor("y", DType::kI64, {{8 * 3 * 2 * 2, ""}, {8, ""}});
  Value* place = b.rank();
  for (int axis = 2; axis >= 0; --axis) {
    place = b.binary("add", b.binary("mul", place, b.num_programs(axis)), b.program_id(axis));
  }
  const Values facts = {b.rank(),        b.rank("lsa"),     b.program_id(0),   b.program_id(1),
                        b.program_id(2), b.num_programs(0), b.num_programs(1), b.num_programs(2)};
  for (std::size_t i = 0; i < facts.size(); ++i) {
    Value* offset =
        b.binary("add", b.binary("mul", place, std::int64_t{8}), static_cast<std::int64_t>(i));
    b.emit("tile_store", {b.emit("address", {y, offset})->result(), facts[i]},
           contiguous_access({}));
  }
  const CpuKernel kernel = compile_lowered(b.finish());
  std::vector<std::int64_t> found(std::size_t{8 * 12 * 8}, -1);
  VirtualWorld world(8, 4, 0);
  const std::vector<RankLaunch> ranks(
      8, {&kernel, {3, 2, 2}, {reinterpret_cast<std::uint64_t>(found.data())}});
  world.launch(ranks);
  std::size_t next = 0;
  for (std::int64_t rank = 0; rank < 8; ++rank) {
    for (std::int64_t z = 0; z < 2; ++z) {
      for (std::int64_t y_id = 0; y_id < 2; ++y_id) {
        for (std::int64_t x = 0; x < 3; ++x) {
          for (const std::int64_t expected :
               {rank, rank % 4, x, y_id, z, std::int64_t{3}, std::int64_t{2}, std::int64_t{2}}) {
            REQUIRE(found[next++] == expected);
          }
        }
      }
    }
  }
}

/// Each rank adds up its LSA team's windows, between two barriers of the team.
CpuKernel team_sum() {
  const Target target = cpu_target(8, 4);
  Builder b("team_sum", "team_sum.py", target);
  Value* x = b.window("x", DType::kF32, {{16, ""}});
  Value* y = b.tensor("y", DType::kF32, {{16, ""}});
  b.barrier("lsa");
  const Values sum =
      b.for_range(std::int64_t{0}, std::int64_t{4}, std::int64_t{1}, {b.zeros({16}, DType::kF32)},
                  [&](Value* member, const Values& carried) {
                    Value* part = b.load(b.slice(b.at(x, member, "lsa"), {Index::all()}));
                    return std::vector<Operand>{b.binary("add", carried[0], part)};
                  });
  b.store(b.slice(y, {Index::all()}), sum[0]);
  b.barrier("lsa");
  enable_cpu_target();
  const Program lowered = lower(b.finish(), target);
  Artifact artifact = describe(lowered, target);
  artifact.source = cpu_codegen()->emit(lowered, artifact);
  artifact.binary = cpu_codegen()->compile(artifact.source);
  return CpuKernel(std::move(artifact));
}

void run_team_sum(const CpuKernel& kernel, std::uint64_t seed) {
  VirtualWorld world(8, 4, seed);
  const auto window = world.make_window(64);
  std::vector<std::vector<float>> results(8, std::vector<float>(16, -1.0F));
  std::vector<std::vector<std::uint64_t>> arguments;
  for (int rank = 0; rank < 8; ++rank) {
    for (int i = 0; i < 16; ++i) {
      const auto value = static_cast<float>(rank * 100 + i);
      std::memcpy(static_cast<std::byte*>(window->data(rank)) + 4 * i, &value, 4);
    }
    auto& slots = arguments.emplace_back();
    for (const ArgumentSlot& slot : kernel.artifact().arguments) {
      const bool is_window = slot.kind == ArgumentSlot::Kind::kWindow;
      const bool is_tensor = slot.kind == ArgumentSlot::Kind::kTensor;
      auto* data = results[static_cast<std::size_t>(rank)].data();
      slots.push_back(is_window   ? reinterpret_cast<std::uint64_t>(window->addresses())
                      : is_tensor ? reinterpret_cast<std::uint64_t>(data)
                                  : 1);
    }
  }
  for (int launch = 0; launch < 20; ++launch) world.launch(kernel, 1 + launch % 3, arguments);
  for (int rank = 0; rank < 8; ++rank) {
    const int first = rank - rank % 4;
    for (int i = 0; i < 16; ++i) {
      const auto expected = static_cast<float>((4 * first + 6) * 100 + 4 * i);
      if (results[static_cast<std::size_t>(rank)][static_cast<std::size_t>(i)] != expected) {
        throw std::runtime_error("wrong sum");
      }
    }
  }
}

TEST_CASE("peers are counted in the LSA team", "[cpu]") {
  const CpuKernel kernel = team_sum();
  for (std::uint64_t seed = 0; seed < 10; ++seed) CHECK_NOTHROW(run_team_sum(kernel, seed));
}

TEST_CASE("worlds on several threads share a kernel", "[cpu]") {
  const CpuKernel kernel = team_sum();
  std::vector<std::thread> threads;
  std::vector<int> is_right(4, 0);
  for (std::size_t i = 0; i < is_right.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        run_team_sum(kernel, i);
        is_right[i] = 1;
      } catch (const std::exception&) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(is_right == std::vector<int>(4, 1));
}

}  // namespace
}  // namespace tilewire

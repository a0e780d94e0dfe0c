#include "runtime/nccl/virtual_ranks.h"

#include "compiler/support/error.h"
#include "tests/gpu/graph.h"
#include "tests/gpu/norm_run.h"

namespace tilewire {
namespace {

using test::NormCase;
using test::NormRun;

constexpr DType kDtypes[] = {DType::kBF16, DType::kF16, DType::kF32};

}  // namespace

TEST_CASE("virtual ranks: the norm is right for every world, shape and dtype") {
  TILEWIRE_NEEDS_GPU();
  const OwnedStream stream(Device::get(0));
  for (const int world_size : {1, 2, 3, 4, 8}) {
    const auto world = VirtualRanks::create(world_size, 0);
    for (const DType dtype : kDtypes) {
      for (const auto& [rows, columns] :
           {std::pair<std::int64_t, std::int64_t>{1, 8192}, {64, 8192}, {7, 5120}, {33, 1000}}) {
        CAPTURE(world_size, name_of(dtype), rows, columns);
        NormRun run(world, {.dtype = dtype, .rows = rows, .columns = columns});
        run.fill(static_cast<std::uint32_t>(rows));
        run.launch(stream.get());
        stream.synchronize();
        CHECK(run.worst_error() <= 1.0);
      }
    }
    world->close();
  }
}

TEST_CASE("virtual ranks: large shapes") {
  TILEWIRE_NEEDS_GPU();
  const OwnedStream stream(Device::get(0));
  const auto world = VirtualRanks::create(2, 0);
  for (const auto& what : {NormCase{DType::kBF16, 4096, 8192}, NormCase{DType::kF16, 512, 4096},
                           NormCase{DType::kF32, 512, 4096}}) {
    CAPTURE(name_of(what.dtype), what.rows, what.columns);
    NormRun run(world, what);
    run.fill(3);
    run.launch(stream.get());
    stream.synchronize();
    CHECK(run.worst_error() <= 1.0);
  }
  world->close();
}

TEST_CASE("virtual ranks: any grid that fits gives the same") {
  TILEWIRE_NEEDS_GPU();
  const OwnedStream stream(Device::get(0));
  const auto world = VirtualRanks::create(4, 0);
  NormRun run(world, {.dtype = DType::kBF16, .rows = 100, .columns = 1024});
  run.fill(5);
  const int limit = world->grid_limit(run.kernel());
  REQUIRE(limit >= 1);
  CHECK(run.auto_grid() <= 100);
  for (const int grid : {1, 2, 7, std::min(limit, 100), limit}) {
    CAPTURE(grid);
    run.poison_outputs();
    run.launch(stream.get(), grid);
    stream.synchronize();
    CHECK(run.worst_error() <= 1.0);
  }
  CHECK_THROWS_WITH(run.launch(stream.get(), limit + 1),
                    test::contains("the largest that fits this GPU is " + std::to_string(limit)));
  world->close();
}

TEST_CASE("virtual ranks: graph replays mixed with eager launches and new inputs") {
  TILEWIRE_NEEDS_GPU();
  const OwnedStream stream(Device::get(0));
  for (const int world_size : {2, 8}) {
    CAPTURE(world_size);
    const auto world = VirtualRanks::create(world_size, 0);
    NormRun run(world, {.dtype = DType::kBF16, .rows = 16, .columns = 2048});
    run.fill(1);
    const test::Graph graph(stream.get(), [&] {
      run.launch(stream.get());
      run.launch(stream.get(), 5);
    });
    for (std::uint32_t round = 0; round < 10; ++round) {
      run.fill(round);
      for (int i = 0; i < 100; ++i) {
        graph.launch(stream.get());
        if (i % 3 == 0) run.launch(stream.get(), 1 + i % 7);
      }
      stream.synchronize();
      CHECK(run.worst_error() <= 1.0);
    }
    world->close();
  }
}

TEST_CASE("virtual ranks: launches from changing streams are chained") {
  TILEWIRE_NEEDS_GPU();
  const Device& device = Device::get(0);
  const OwnedStream first(device);
  const OwnedStream second(device);
  const auto world = VirtualRanks::create(2, 0);
  NormRun run(world, {.dtype = DType::kBF16, .rows = 64, .columns = 8192});
  run.fill(1);
  for (int i = 0; i < 300; ++i) run.launch(i % 2 == 0 ? first.get() : second.get());
  world->synchronize();
  CHECK(run.worst_error() <= 1.0);
  world->close();
}

TEST_CASE("virtual ranks: windows lie a multiple of 4 GiB apart and hold what is written") {
  TILEWIRE_NEEDS_GPU();
  const auto world = VirtualRanks::create(3, 0);
  const auto window = world->window(1000);
  for (int rank = 0; rank < 3; ++rank) {
    CHECK((window->address(rank) - window->address(0)) % (1ull << 32) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(window->handle(rank).local) == window->address(rank));
    test::upload(window->address(rank), std::vector<std::byte>(1000, std::byte(rank + 1)));
  }
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(test::download(window->address(rank), 1000) ==
          std::vector<std::byte>(1000, std::byte(rank + 1)));
  }
  CHECK_THROWS_AS(window->address(3), UserError);
  world->free(*window);
  CHECK_THROWS_WITH(window->address(0), "this window was freed, or its communicator closed");
  CHECK_THROWS_AS(world->free(*window), UserError);
  world->close();
  CHECK_THROWS_AS(world->window(16), UserError);
}

TEST_CASE("virtual ranks: too many are refused") {
  TILEWIRE_NEEDS_GPU();
  CHECK_THROWS_AS(VirtualRanks::create(9, 0), UserError);
  CHECK_THROWS_AS(VirtualRanks::create(0, 0), UserError);
}

}  // namespace tilewire

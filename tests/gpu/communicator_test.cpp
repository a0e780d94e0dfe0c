#include "runtime/nccl/communicator.h"

#include "compiler/support/error.h"
#include "tests/gpu/graph.h"
#include "tests/gpu/norm_run.h"

namespace tilewire {
namespace {

std::shared_ptr<Communicator> world_of_one() {
  return Communicator::create(Communicator::new_unique_id(), 0, 1, 0);
}

}  // namespace

TEST_CASE("a world of one over NCCL: facts, windows, kernels, graphs") {
  TILEWIRE_NEEDS_GPU();
  const auto world = world_of_one();
  CHECK(world->rank() == 0);
  CHECK(world->world_size() == 1);
  CHECK(world->lsa_size() == 1);
  CHECK(world->num_local_ranks() == 1);
  CHECK(Target::parse(world->target().to_string()) == world->target());

  const OwnedStream stream(world->device());
  test::NormRun run(world, {.dtype = DType::kBF16, .rows = 33, .columns = 1000});
  run.fill(1);
  run.launch(stream.get());
  stream.synchronize();
  CHECK(run.worst_error() <= 1.0);

  const test::Graph graph(stream.get(), [&] { run.launch(stream.get()); });
  for (std::uint32_t round = 2; round < 5; ++round) {
    run.fill(round);
    for (int i = 0; i < 50; ++i) graph.launch(stream.get());
    run.launch(stream.get());
    stream.synchronize();
    CHECK(run.worst_error() <= 1.0);
  }
  world->barrier();
  CHECK(world->agree_minimum("a grid", 7, 12) == 12);
  world->check();
  world->close();
  world->close();
}

TEST_CASE("a window can't be made inside a capture") {
  TILEWIRE_NEEDS_GPU();
  const auto world = world_of_one();
  const OwnedStream stream(world->device());
  const test::Graph graph(stream.get(), [&] {
    CHECK_THROWS_WITH(world->window(4096, stream.get()),
                      "making symmetric memory (comm.window) can't be recorded into a CUDA graph: "
                      "do it once before the capture begins, on all ranks, and keep the result");
  });
  CHECK_NOTHROW(world->window(4096, stream.get()));
  world->close();
}

TEST_CASE("kernels can be loaded and agreed on while a stream is captured") {
  TILEWIRE_NEEDS_GPU();
  const auto world = world_of_one();
  const OwnedStream stream(world->device());
  const test::NormCase what{.dtype = DType::kF32, .rows = 5, .columns = 700};
  test::NormRun run(world, what);
  run.fill(1);
  const auto artifact = std::make_shared<Artifact>(run.kernel().artifact());
  const test::Graph graph(stream.get(), [&] {
    const auto goes_on = [&] {
      cuda::CaptureStatus status = cuda::kCaptureNone;
      cuda::api().stream_is_capturing(stream.get(), &status);
      return status == cuda::kCaptureActive;
    };
    auto kernel =
        std::make_unique<GpuKernel>(world->device(), artifact, world->device_comm_bytes());
    CHECK(goes_on());
    kernel.reset();  // as Python's garbage collection may
    CHECK(goes_on());
    CHECK(world->agree_minimum("a grid", 1, 5) == 5);
    CHECK(goes_on());
    {
      const DeviceMemory device(world->device(), 4096);
    }
    {
      const MappedMemory mapped(world->device(), 4096);
    }
    CHECK(goes_on());
    run.launch(stream.get());
  });
  graph.launch(stream.get());
  stream.synchronize();
  CHECK(run.worst_error() <= 1.0);
  world->close();
}

TEST_CASE("a window has one address: the one that NCCL's struct says") {
  TILEWIRE_NEEDS_GPU();
  const auto world = world_of_one();
  const auto window = world->window(1 << 20);
  CHECK(window->address(0) == reinterpret_cast<std::uintptr_t>(window->handle().local));
  test::upload(window->address(0), std::vector<std::byte>(1 << 20, std::byte{5}));
  CHECK(test::download(reinterpret_cast<std::uintptr_t>(window->handle().local), 1 << 20) ==
        std::vector<std::byte>(1 << 20, std::byte{5}));
  world->free(*window);
  world->close();
}

TEST_CASE("what NCCL and the driver refuse is a BackendError with their words") {
  TILEWIRE_NEEDS_GPU();
  const auto world = world_of_one();
  CHECK_THROWS_AS(world->window(std::size_t{1} << 50), BackendError);
  CHECK_NOTHROW(world->window(4096));
  world->close();
  CHECK_THROWS_AS(Communicator::create("short", 0, 1, 0), UserError);
  CHECK_THROWS_AS(Communicator::create(Communicator::new_unique_id(), 2, 2, 0), UserError);
  CHECK_THROWS_WITH(check_cuda(2, "cuMemAlloc"),
                    test::contains("CUDA driver: cuMemAlloc failed: 2 (CUDA_ERROR_OUT_OF_MEMORY)"));
  CHECK_THROWS_AS(Device::get(1000), UserError);
}

}  // namespace tilewire

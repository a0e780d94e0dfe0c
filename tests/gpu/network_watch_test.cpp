// The lane that watches calls of NCCL's network, over calls that take any time. The one that never
// returns leaves a dead context behind, and needs a process of its own:
// `TILEWIRE_TIMEOUT=2 gpu_tests "[.network-hang]"`.
#include <cstring>

#include "compiler/jit/cuda_compiler.h"
#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/nccl/virtual_ranks.h"
#include "tests/gpu/gpu.h"

namespace tilewire {
namespace {

using Kind = ArgumentSlot::Kind;

constexpr int kRounds = 1000;
constexpr int kCallers = 31;

/// Each lane's call takes another time; lane `stuck`'s never returns.
constexpr const char* kSource = R"(
#include "tilewire/network_watch.cuh"
namespace tw = tilewire::device;
extern "C" __global__ void watch(int* out, int stuck, const __grid_constant__ tw::Lane lane) {
  const int caller = threadIdx.x;
  if (caller >= tw::kNetworkThreads) return;
  for (int round = 0; round < 1000; ++round) {
    tw::watched(lane, 0, [&] {
      const uint64_t until = tw::global_time_ns() + 100 * ((caller + round) % 31);
      const volatile int* word = &out[caller];  // NCCL's functions poll memory, too
      while (*word == round && (tw::global_time_ns() < until || caller == stuck)) {
      }
      out[caller] += 1;
    });
  }
}
)";

std::shared_ptr<Artifact> artifact() {
  const std::string architecture = Device::get(0).architecture();
  auto artifact = std::make_shared<Artifact>();
  artifact->kernel = artifact->entry = "watch";
  artifact->target = Target::parse(architecture + ":world=2");
  Parameter out;
  out.dtype = DType::kI32;
  Parameter stuck;
  stuck.kind = Parameter::Kind::kScalar;
  stuck.dtype = DType::kI32;
  artifact->parameters = {out, stuck};
  artifact->arguments = {{Kind::kTensor, 0, 0}, {Kind::kScalar, 1, 0}, {Kind::kLane, 0, 0}};
  artifact->wait_sites = {{{"watch.py", 7, 0}, "a call"}};
  artifact->resources.lane = artifact->resources.waits = true;
  artifact->launch.num_threads = 64;
  artifact->binary =
      CudaJob::of(kSource, "watch.cu", architecture, NcclForm::kSlim).compile().cubin;
  return artifact;
}

/// Two virtual ranks' launches, and what the lanes counted.
struct Watch {
  explicit Watch(int stuck)
      : world(VirtualRanks::create(2, 0)),
        stream(world->device()),
        kernel(world->device(), artifact(), world->device_comm_bytes()),
        counts(world->device(), 2 * kBytes) {
    test::upload(counts.address(), std::vector<std::byte>(2 * kBytes));
    std::vector<ArgumentValue> values(2 * kernel.artifact().arguments.size());
    for (std::size_t rank = 0; rank < 2; ++rank) {
      values[3 * rank].pointer = counts.address() + rank * kBytes;
      values[3 * rank + 1].integer = stuck;
    }
    world->launch(kernel, 1, stream.get(), values.data(), &world->lane(0));
  }

  static constexpr std::size_t kBytes = 32 * sizeof(int);
  std::shared_ptr<VirtualRanks> world;
  OwnedStream stream;
  GpuKernel kernel;
  DeviceMemory counts;
};

}  // namespace

TEST_CASE("calls of the network are watched until all of them have returned") {
  TILEWIRE_NEEDS_GPU();
  const Watch watch(-1);
  watch.world->synchronize();
  const std::vector<std::byte> bytes = test::download(watch.counts.address(), 2 * Watch::kBytes);
  for (std::size_t i = 0; i < 64; ++i) {
    int count = 0;
    std::memcpy(&count, bytes.data() + i * sizeof(int), sizeof(int));
    CAPTURE(i);
    CHECK(count == (i % 32 < kCallers ? kRounds : 0));  // the last lane watches
  }
  watch.world->close();
}

TEST_CASE("a call of the network that doesn't return is reported, with the line",
          "[.network-hang]") {
  TILEWIRE_NEEDS_GPU();
  REQUIRE(Environment::get().timeout_s <= 10);  // set TILEWIRE_TIMEOUT
  const Watch watch(5);
  CHECK_THROWS_WITH(watch.world->synchronize(), test::contains("watch.py:7: "));
  CHECK_NOTHROW(watch.world->close());
}

}  // namespace tilewire

#include <numeric>

#include "compiler/jit/nvrtc.h"
#include "compiler/support/error.h"
#include "runtime/nccl/virtual_ranks.h"
#include "tests/gpu/box_loader.h"
#include "tests/gpu/graph.h"

namespace tilewire {
namespace {

using test::BoxCase;
using test::BoxLoader;
using test::Bytes;
using test::Coordinates;

/// Ends the test case where the GPU has no TMA.
#define TILEWIRE_NEEDS_TMA()                         \
  TILEWIRE_NEEDS_GPU();                              \
  if (Device::get(0).compute_capability() < 90) {    \
    WARN("skipped: GPUs before Hopper have no TMA"); \
    return;                                          \
  }

/// A tensor on the GPU, with its copy here.
struct OnGpu {
  explicit OnGpu(const BoxLoader& loader, std::uint32_t seed = 1)
      : bytes(loader.random_array(seed)), memory(Device::get(0), bytes.size()) {
    test::upload(memory.address(), bytes);
  }
  Bytes bytes;
  DeviceMemory memory;
};

void check_boxes(const BoxCase& what, const std::vector<Coordinates>& places) {
  const BoxLoader loader(what);
  const OnGpu array(loader);
  for (const Coordinates& at : places) {
    CAPTURE(name_of(what.dtype), what.shape, at);
    CHECK(loader.load(array.memory.address(), at) == loader.expected({array.bytes}, at));
  }
}

}  // namespace

TEST_CASE("tensor maps: boxes of tensors of rank 1 to 3, zeros outside") {
  TILEWIRE_NEEDS_TMA();
  for (const DType dtype : {DType::kU8, DType::kF16, DType::kF32, DType::kF64}) {
    const std::int64_t row = 64 / num_bytes(dtype);  // elements
    check_boxes({.dtype = dtype, .shape = {5 * row + 3}, .dimensions = {0}, .box = {row}},
                {{0}, {row}, {row / 4}, {5 * row}, {6 * row}, {-row / 4}});
    check_boxes(
        {.dtype = dtype,
         .shape = {21, 2 * row - 1},
         .strides = {2 * row, 1},
         .dimensions = {1, 0},
         .box = {row, 8}},
        {{0, 0}, {row, 8}, {row, 16}, {row / 4, 20}, {-row / 4, -7}, {2 * row, 0}, {0, 21}});
    check_boxes({.dtype = dtype, .shape = {3, 9, row}, .dimensions = {2, 1, 0}, .box = {row, 4, 2}},
                {{0, 0, 0}, {0, 8, 1}, {row / 4, 3, 2}, {0, -2, -1}, {0, 0, 3}});
  }
}

TEST_CASE("tensor maps: outer dimensions in any order, and of one element with any stride") {
  TILEWIRE_NEEDS_TMA();
  check_boxes({.shape = {3, 9, 32}, .dimensions = {2, 0, 1}, .box = {32, 2, 4}},
              {{0, 0, 0}, {8, 1, 3}, {0, 2, 8}});
  check_boxes({.shape = {1, 61}, .strides = {61, 1}, .dimensions = {1, 0}, .box = {32, 4}},
              {{0, 0}, {32, 0}, {0, -1}});
  check_boxes({.shape = {9, 1}, .strides = {64, 7}, .dimensions = {1, 0}, .box = {8, 4}},
              {{0, 0}, {0, 7}, {-8, 3}});
}

TEST_CASE("tensor maps: a swizzled box has the chunks of each row in another order") {
  TILEWIRE_NEEDS_TMA();
  const BoxCase what{.shape = {40, 80},
                     .dimensions = {1, 0},
                     .box = {64, 16},
                     .swizzle = TensorMapSpec::Swizzle::k128Bytes};
  const BoxLoader loader(what);
  const OnGpu array(loader);
  for (const Coordinates& at : {Coordinates{0, 0}, Coordinates{64, 32}}) {
    const Bytes plain = loader.expected({array.bytes}, at);
    Bytes swizzled(plain.size());
    for (std::size_t chunk = 0; chunk < plain.size() / 16; ++chunk) {
      const std::size_t row = chunk / 8;
      const std::size_t place = row * 8 + (chunk % 8 ^ row % 8);
      std::copy_n(plain.begin() + static_cast<std::ptrdiff_t>(16 * chunk), 16,
                  swizzled.begin() + static_cast<std::ptrdiff_t>(16 * place));
    }
    CHECK(loader.load(array.memory.address(), at) == swizzled);
  }
}

TEST_CASE("tensor maps: nothing but zeros of a tensor without elements") {
  TILEWIRE_NEEDS_TMA();
  for (const auto& shape : {std::vector<std::int64_t>{0, 32}, {5, 0}}) {
    const BoxLoader loader({.shape = shape, .dimensions = {1, 0}, .box = {32, 4}});
    for (const Coordinates& at : {Coordinates{0, 0}, Coordinates{-8, -2}, Coordinates{32, 4}}) {
      CHECK(loader.load(0, at) == Bytes(loader.box_bytes()));
    }
  }
}

TEST_CASE("tensor maps: one kernel, several tensors in turn, more than it remembers") {
  TILEWIRE_NEEDS_TMA();
  const BoxLoader loader({.shape = {8, 32}, .dimensions = {1, 0}, .box = {32, 4}});
  std::vector<std::unique_ptr<OnGpu>> arrays;
  for (std::uint32_t i = 0; i < 40; ++i) arrays.push_back(std::make_unique<OnGpu>(loader, i));
  for (int round = 0; round < 2; ++round) {
    for (const auto& array : arrays) {
      CHECK(loader.load(array->memory.address(), {0, 2}) ==
            loader.expected({array->bytes}, {0, 2}));
    }
  }
}

TEST_CASE("tensor maps: a graph keeps those of the launches that it recorded") {
  TILEWIRE_NEEDS_TMA();
  const BoxLoader loader({.shape = {8, 32}, .dimensions = {1, 0}, .box = {32, 4}});
  const OnGpu first(loader, 1);
  const OnGpu second(loader, 2);
  const Device& device = Device::get(0);
  const std::size_t num_bytes = loader.box_bytes();
  const DeviceMemory out(device, 2 * num_bytes);
  test::upload(out.address(), Bytes(2 * num_bytes, std::byte{0xee}));
  const OwnedStream stream(device);
  const auto launch = [&](const OnGpu& array, std::size_t place) {
    ArgumentValue value;
    value.pointer = array.memory.address();
    const auto values = loader.values(value, out.address() + place * num_bytes, {0, 5});
    loader.kernel().launch(1, stream.get(), values.data());
  };
  const test::Graph graph(stream.get(), [&] {
    launch(first, 0);
    launch(second, 1);
  });
  graph.launch(stream.get());
  stream.synchronize();
  Bytes both = loader.expected({first.bytes}, {0, 5});
  const Bytes other = loader.expected({second.bytes}, {0, 5});
  both.insert(both.end(), other.begin(), other.end());
  CHECK(test::download(out.address(), 2 * num_bytes) == both);
}

TEST_CASE("tensor maps: what TMA can't load is refused at the launch") {
  TILEWIRE_NEEDS_TMA();
  const BoxLoader loader(
      {.shape = {8, 32}, .strides = {36, 1}, .dimensions = {1, 0}, .box = {32, 4}});
  const OnGpu array(loader);
  CHECK_THROWS_WITH(loader.load(array.memory.address(), {0, 0}),
                    test::contains("with extents [8, 32] and strides [36, 1] of 2 bytes"));
}

TEST_CASE("tensor maps: one map of a window serves all virtual ranks") {
  TILEWIRE_NEEDS_TMA();
  constexpr int kRanks = 3;
  const BoxLoader loader({.dtype = DType::kF32,
                          .shape = {10, 20},
                          .dimensions = {1, 0, TensorMapSpec::kLsaRank},
                          .box = {16, 4, 1},
                          .lsa_size = kRanks});
  const auto world = VirtualRanks::create(kRanks, 0);
  const auto before = world->window(1000);  // so that the next begins inside of a segment
  const auto window = world->window(10 * 20 * 4);
  std::vector<Bytes> copies;
  for (int rank = 0; rank < kRanks; ++rank) {
    copies.push_back(loader.random_array(static_cast<std::uint32_t>(rank)));
    test::upload(window->address(rank), copies.back());
  }
  const Device& device = Device::get(0);
  const std::size_t num_bytes = loader.box_bytes();
  const DeviceMemory out(device, kRanks * num_bytes);
  const OwnedStream stream(device);
  for (int distance = 0; distance <= kRanks; ++distance) {  // the last: beyond the team
    const auto place_of = [&](int rank) -> Coordinates {
      return {8, 7, distance == kRanks ? kRanks : (rank + distance) % kRanks};
    };
    test::upload(out.address(), Bytes(kRanks * num_bytes, std::byte{0xee}));
    std::vector<ArgumentValue> values;
    for (int rank = 0; rank < kRanks; ++rank) {
      ArgumentValue handle;
      handle.window = window->handle(rank);
      const auto own = loader.values(handle, out.address() + rank * num_bytes, place_of(rank));
      values.insert(values.end(), own.begin(), own.end());
    }
    world->launch(loader.kernel(), 1, stream.get(), values.data(), nullptr);
    stream.synchronize();
    for (int rank = 0; rank < kRanks; ++rank) {
      CAPTURE(rank, distance);
      CHECK(test::download(out.address() + rank * num_bytes, num_bytes) ==
            loader.expected(copies, place_of(rank)));
    }
  }
  world->close();
}

TEST_CASE("kernels in clusters launch on whole ones") {
  TILEWIRE_NEEDS_TMA();
  constexpr const char* kText = R"(
extern "C" __global__ void tell(unsigned* out) {
  unsigned rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  out[blockIdx.x] = 16 * size + rank;
}
)";
  const Device& device = Device::get(0);
  auto artifact = std::make_shared<Artifact>();
  artifact->kernel = artifact->entry = "tell";
  artifact->target = Target::parse(device.architecture());
  artifact->parameters.resize(1);
  artifact->arguments = {{ArgumentSlot::Kind::kTensor, 0, 0}};
  artifact->launch.num_threads = 32;
  artifact->launch.cluster_size = 2;
  artifact->launch.useful_grid = {{GridBound::kNone, 5}};
  NvrtcRequest request;
  request.source = kText;
  request.name = "tell.cu";
  request.options = {"--gpu-architecture=" + device.architecture()};
  artifact->binary = Nvrtc::get().compile(request).cubin;
  const GpuKernel kernel(device, artifact);
  CHECK(kernel.max_coresident_grid() >= device.num_sms() / 2);
  CHECK(kernel.max_coresident_grid() % 2 == 0);
  CHECK(kernel.auto_grid({}) == 6);
  CHECK_THROWS_WITH(kernel.check_grid(5), test::contains("a multiple of 2, like 4 or 6"));
  const DeviceMemory out(device, 6 * 4);
  test::upload(out.address(), Bytes(6 * 4, std::byte{0xee}));
  std::vector<ArgumentValue> values(1);
  values[0].pointer = out.address();
  const OwnedStream stream(device);
  kernel.launch(6, stream.get(), values.data());
  stream.synchronize();
  Bytes told;
  for (int i = 0; i < 6; ++i) {
    told.insert(told.end(), {std::byte(32 + i % 2), std::byte{0}, std::byte{0}, std::byte{0}});
  }
  CHECK(test::download(out.address(), 6 * 4) == told);
}

}  // namespace tilewire

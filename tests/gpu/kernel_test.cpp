#include "runtime/driver/kernel.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "compiler/jit/nvrtc.h"
#include "compiler/support/error.h"
#include "tests/gpu/gpu.h"

namespace tilewire {
namespace {

using Kind = ArgumentSlot::Kind;

/// Writes every argument it gets to `out`, one 64-bit word each.
constexpr const char* kProbe = R"(
struct WindowHandle {
  void* window;
  unsigned long long offset;
  void* local;
  unsigned long long stride;
  unsigned long long first_signal;
};
extern "C" __global__ void probe(unsigned long long* out, WindowHandle window, float scale,
                                 bool flag, unsigned short half, double factor, long long extent,
                                 long long stride) {
  out[blockIdx.x * 10 + 0] = (unsigned long long)window.window;
  out[blockIdx.x * 10 + 1] = window.offset;
  out[blockIdx.x * 10 + 2] = (unsigned long long)window.local;
  out[blockIdx.x * 10 + 3] = __float_as_uint(scale);
  out[blockIdx.x * 10 + 4] = flag;
  out[blockIdx.x * 10 + 5] = half;
  out[blockIdx.x * 10 + 6] = __double_as_longlong(factor);
  out[blockIdx.x * 10 + 7] = extent;
  out[blockIdx.x * 10 + 8] = stride;
  out[blockIdx.x * 10 + 9] = window.first_signal;
}
)";

Parameter parameter(Parameter::Kind kind, DType dtype) {
  Parameter parameter;
  parameter.kind = kind;
  parameter.dtype = dtype;
  return parameter;
}

std::shared_ptr<Artifact> probe_artifact(const Device& device) {
  auto artifact = std::make_shared<Artifact>();
  artifact->kernel = artifact->entry = "probe";
  artifact->target = Target::parse(device.architecture());
  artifact->parameters = {parameter(Parameter::Kind::kTensor, DType::kI64),
                          parameter(Parameter::Kind::kWindow, DType::kBF16),
                          parameter(Parameter::Kind::kScalar, DType::kF32),
                          parameter(Parameter::Kind::kScalar, DType::kBool),
                          parameter(Parameter::Kind::kScalar, DType::kBF16),
                          parameter(Parameter::Kind::kScalar, DType::kF64)};
  artifact->dimensions = {"T"};
  artifact->arguments = {{Kind::kTensor, 0, 0}, {Kind::kWindow, 1, 0}, {Kind::kScalar, 2, 0},
                         {Kind::kScalar, 3, 0}, {Kind::kScalar, 4, 0}, {Kind::kScalar, 5, 0},
                         {Kind::kExtent, 0, 0}, {Kind::kStride, 0, 0}};
  artifact->launch.num_threads = 1;
  NvrtcRequest request;
  request.source = kProbe;
  request.name = "probe.cu";
  request.options = {fmt::format("--gpu-architecture={}", device.architecture())};
  artifact->binary = Nvrtc::get().compile(request).cubin;
  return artifact;
}

}  // namespace

TEST_CASE("a kernel gets every argument as it was passed") {
  TILEWIRE_NEEDS_GPU();
  const Device& device = Device::get(0);
  GpuKernel kernel(device, probe_artifact(device));
  CHECK(kernel.max_coresident_grid() >= device.num_sms());
  const DeviceMemory out(device, 3 * 10 * 8);
  test::upload(out.address(), std::vector<std::byte>(3 * 10 * 8, std::byte{0xee}));

  std::vector<ArgumentValue> values(8);
  values[0].pointer = out.address();
  values[1].window = {reinterpret_cast<void*>(0x1111), 0x2222, reinterpret_cast<void*>(0x3333),
                      0x4444, 0x5555};
  values[2].scalar = std::bit_cast<std::uint32_t>(1.5f);
  values[3].scalar = 1;
  values[4].scalar = 0x3fc0;
  values[5].scalar = std::bit_cast<std::uint64_t>(-2.25);
  values[6].integer = -7;
  values[7].integer = std::int64_t{1} << 40;
  const OwnedStream stream(device);
  kernel.launch(3, stream.get(), values.data());
  stream.synchronize();
  const std::vector<std::byte> bytes = test::download(out.address(), 3 * 10 * 8);
  const std::uint64_t expected[10] = {0x1111,
                                      0x2222,
                                      0x3333,
                                      std::bit_cast<std::uint32_t>(1.5f),
                                      1,
                                      0x3fc0,
                                      std::bit_cast<std::uint64_t>(-2.25),
                                      static_cast<std::uint64_t>(-7),
                                      1ull << 40,
                                      0x5555};
  for (int block = 0; block < 3; ++block) {
    std::uint64_t found[10];
    std::memcpy(found, bytes.data() + block * sizeof(found), sizeof(found));
    for (int i = 0; i < 10; ++i) {
      CAPTURE(block, i);
      CHECK(found[i] == expected[i]);
    }
  }
}

TEST_CASE("a kernel whose parameters aren't those of its artifact is refused") {
  TILEWIRE_NEEDS_GPU();
  const Device& device = Device::get(0);
  if (cuda::api().function_parameter == nullptr) {
    WARN("skipped: this driver can't tell a kernel's parameters (12.4 or newer can)");
    return;
  }
  auto artifact = probe_artifact(device);
  artifact->arguments.pop_back();
  CHECK_THROWS_AS(GpuKernel(device, artifact), InternalError);
  artifact->arguments.push_back({Kind::kStride, 0, 0});
  std::swap(artifact->arguments[2], artifact->arguments[5]);
  CHECK_THROWS_AS(GpuKernel(device, artifact), InternalError);
}

TEST_CASE("a kernel for another architecture is refused by name") {
  TILEWIRE_NEEDS_GPU();
  const Device& device = Device::get(0);
  auto artifact = probe_artifact(device);
  artifact->target = Target::parse(device.compute_capability() == 90 ? "sm_100a" : "sm_90a");
  CHECK_THROWS_WITH(GpuKernel(device, artifact), test::contains("but GPU 0 (" + device.name()));
}

TEST_CASE("a broken cubin is a BackendError with the driver's words") {
  TILEWIRE_NEEDS_GPU();
  const Device& device = Device::get(0);
  auto artifact = probe_artifact(device);
  artifact->binary = "no cubin at all";
  CHECK_THROWS_WITH(GpuKernel(device, artifact), test::contains("cuModuleLoadData failed"));
  artifact->binary.clear();
  CHECK_THROWS_AS(GpuKernel(device, artifact), InternalError);
}

TEST_CASE("launching needs no context on the calling thread") {
  TILEWIRE_NEEDS_GPU();
  const Device& device = Device::get(0);
  GpuKernel kernel(device, probe_artifact(device));
  const DeviceMemory out(device, 10 * 8);
  std::vector<ArgumentValue> values(8);
  for (ArgumentValue& value : values) value.scalar = 0;
  values[0].pointer = out.address();
  cuda::Context before = nullptr;
  check_cuda(cuda::api().context_get_current(&before), "cuCtxGetCurrent");
  check_cuda(cuda::api().context_set_current(nullptr), "cuCtxSetCurrent");
  CHECK_NOTHROW(kernel.launch(1, nullptr, values.data()));
  device.synchronize();
  check_cuda(cuda::api().context_set_current(before), "cuCtxSetCurrent");
}

}  // namespace tilewire

#include "runtime/nccl/signal_reset.h"

#include <memory>
#include <utility>

#include "compiler/jit/cuda_compiler.h"
#include "runtime/driver/kernel.h"

namespace tilewire {
namespace {

constexpr int kThreads = 256;
constexpr const char* kEntry = "tilewire_reset_signals";
constexpr const char* kSource = R"(#include <nccl_device.h>

extern "C" __global__ void tilewire_reset_signals(const __grid_constant__ ncclDevComm comm,
                                                  uint32_t num_contexts, uint32_t first,
                                                  uint32_t count) {
  for (uint32_t i = threadIdx.x; i < num_contexts * count; i += blockDim.x) {
    const ncclGin gin(comm, i / count);
    gin.resetSignal(first + i % count);
  }
}
)";

Parameter number(const char* name) {
  Parameter parameter;
  parameter.kind = Parameter::Kind::kScalar;
  parameter.name = name;
  parameter.dtype = DType::kU32;
  return parameter;
}

std::shared_ptr<const Artifact> make_artifact(const Target& target) {
  auto artifact = std::make_shared<Artifact>();
  artifact->kernel = "reset_signals";
  artifact->entry = kEntry;
  artifact->target = target;
  artifact->source = kSource;
  artifact->binary = compile_cuda(
      CudaJob::of(kSource, "reset_signals.cu", target.architecture, network_form(target)));
  artifact->parameters = {number("num_contexts"), number("first"), number("count")};
  artifact->written = {false, false, false};
  using Kind = ArgumentSlot::Kind;
  artifact->arguments = {{Kind::kDeviceComm, 0, 0},
                         {Kind::kScalar, 0, 0},
                         {Kind::kScalar, 1, 0},
                         {Kind::kScalar, 2, 0}};
  artifact->launch.num_threads = kThreads;
  return artifact;
}

}  // namespace

const char* signal_reset_source() { return kSource; }

void reset_signals(const Device& device, const Target& target,
                   std::span<const std::byte> device_comm, int num_contexts, std::uint64_t first,
                   std::uint64_t count, cuda::Stream stream) {
  const GpuKernel kernel(device, make_artifact(target), device_comm.size());
  ArgumentValue values[4] = {};
  values[1].scalar = static_cast<std::uint64_t>(num_contexts);
  values[2].scalar = first;
  values[3].scalar = count;
  kernel.launch(1, stream, values, {.device_comm = device_comm.data()});
  check_cuda(cuda::api().stream_synchronize(stream), "cuStreamSynchronize");
}

}  // namespace tilewire

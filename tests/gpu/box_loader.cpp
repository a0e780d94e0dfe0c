#include "tests/gpu/box_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <utility>

#include "compiler/jit/nvrtc.h"

namespace tilewire::test {
namespace {

using Kind = ArgumentSlot::Kind;

constexpr std::size_t kMostCoordinates = 4;

/// SIZES: the extents and strides, which only the host looks at.
constexpr const char* kKernel = R"(
struct __align__(64) TensorMap {
  char bytes[128];
};
struct Window {
  void* words[5];
};
extern "C" __global__ void load_box(ARRAY, unsigned char* out, int c0, int c1, int c2, int c3,
                                    SIZES const __grid_constant__ TensorMap map) {
  __shared__ __align__(1024) unsigned char box[BYTES];
  __shared__ unsigned long long arrived;
  const unsigned barrier = (unsigned)__cvta_generic_to_shared(&arrived);
  const unsigned to = (unsigned)__cvta_generic_to_shared(box);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "n"(BYTES)
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.RANKd.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1, {COORDINATES}], [%2];" ::"r"(to), "l"(&map), "r"(barrier), "r"(c0), "r"(c1),
        "r"(c2), "r"(c3)
        : "memory");
  }
  __syncthreads();
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(barrier)
      : "memory");
  for (int i = threadIdx.x; i < BYTES; i += blockDim.x) out[i] = box[i];
}
)";

void replace(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), by);
    at += by.size();
  }
}

Parameter scalar() {
  Parameter parameter;
  parameter.kind = Parameter::Kind::kScalar;
  parameter.dtype = DType::kI32;
  return parameter;
}

}  // namespace

BoxLoader::BoxLoader(BoxCase what) : case_(std::move(what)) {
  kernel_ = std::make_unique<GpuKernel>(Device::get(0), artifact());
}

std::size_t BoxLoader::box_bytes() const {
  return std::accumulate(case_.box.begin(), case_.box.end(),
                         static_cast<std::size_t>(num_bytes(case_.dtype)), std::multiplies<>());
}

std::string BoxLoader::source() const {
  std::string sizes;
  for (std::size_t i = 0; i < case_.shape.size(); ++i) sizes += fmt::format("long long n{}, ", i);
  for (std::size_t i = 0; i < case_.strides.size(); ++i) {
    sizes += fmt::format("long long s{}, ", i);
  }
  std::vector<std::string> coordinates;
  for (std::size_t i = 0; i < case_.dimensions.size(); ++i) {
    coordinates.push_back(fmt::format("%{}", 3 + i));
  }
  std::string text = kKernel;
  replace(text, "ARRAY", case_.lsa_size > 0 ? "Window array" : "void* array");
  replace(text, "SIZES", sizes);
  replace(text, "COORDINATES", fmt::format("{}", fmt::join(coordinates, ", ")));
  replace(text, "RANK", std::to_string(case_.dimensions.size()));
  replace(text, "BYTES", std::to_string(box_bytes()));
  return text;
}

std::shared_ptr<Artifact> BoxLoader::artifact() const {
  const Device& device = Device::get(0);
  auto artifact = std::make_shared<Artifact>();
  artifact->kernel = artifact->entry = "load_box";
  artifact->target = Target::parse(device.architecture());
  artifact->target.world_size = artifact->target.lsa_size = std::max(1, case_.lsa_size);
  Parameter array;
  array.name = "array";
  array.kind = case_.lsa_size > 0 ? Parameter::Kind::kWindow : Parameter::Kind::kTensor;
  array.dtype = case_.dtype;
  Parameter out;
  out.dtype = DType::kU8;
  artifact->arguments = {{case_.lsa_size > 0 ? Kind::kWindow : Kind::kTensor, 0, 0},
                         {Kind::kTensor, 1, 0},
                         {Kind::kScalar, 2, 0},
                         {Kind::kScalar, 3, 0},
                         {Kind::kScalar, 4, 0},
                         {Kind::kScalar, 5, 0}};
  for (int i = 0; i < static_cast<int>(case_.shape.size()); ++i) {
    artifact->dimensions.push_back(fmt::format("n{}", i));
    array.shape.push_back({kDynamic, artifact->dimensions.back()});
    artifact->arguments.push_back({Kind::kExtent, i, 0});
  }
  for (int i = 0; i < static_cast<int>(case_.strides.size()); ++i) {
    artifact->arguments.push_back({Kind::kStride, 0, i});
  }
  artifact->arguments.push_back({Kind::kTensorMap, 0, 0});
  artifact->parameters = {array, out, scalar(), scalar(), scalar(), scalar()};
  artifact->facts.contiguous = {case_.strides.empty()};
  artifact->tensor_maps = {{.parameter = 0,
                            .dtype = case_.dtype,
                            .dimensions = case_.dimensions,
                            .box = case_.box,
                            .swizzle = case_.swizzle}};
  artifact->launch.num_threads = 64;
  NvrtcRequest request;
  request.source = source();
  request.name = "load_box.cu";
  request.options = {fmt::format("--gpu-architecture={}", device.architecture())};
  artifact->binary = Nvrtc::get().compile(request).cubin;
  return artifact;
}

std::vector<std::int64_t> BoxLoader::strides() const {
  if (!case_.strides.empty()) return case_.strides;
  std::vector<std::int64_t> strides(case_.shape.size(), 1);
  for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * case_.shape[i];
  return strides;
}

Bytes BoxLoader::random_array(std::uint32_t seed) const {
  std::int64_t last = 1;
  for (std::size_t i = 0; i < case_.shape.size(); ++i) {
    last += std::max<std::int64_t>(0, case_.shape[i] - 1) * strides()[i];
  }
  std::mt19937 random(seed);
  Bytes bytes(static_cast<std::size_t>(last * num_bytes(case_.dtype)));
  for (std::byte& byte : bytes) byte = std::byte(1 + random() % 255);
  return bytes;
}

Bytes BoxLoader::expected(const std::vector<Bytes>& copies, const Coordinates& coordinates) const {
  const auto bytes = static_cast<std::size_t>(num_bytes(case_.dtype));
  Bytes box(box_bytes());
  for (std::size_t element = 0; element < box.size() / bytes; ++element) {
    auto rest = static_cast<std::int64_t>(element);
    std::int64_t offset = 0;
    std::int64_t copy = 0;
    bool is_inside = true;
    for (std::size_t i = 0; i < case_.box.size(); ++i) {
      const std::int64_t at = coordinates[i] + rest % case_.box[i];
      rest /= case_.box[i];
      const bool is_rank = case_.dimensions[i] == TensorMapSpec::kLsaRank;
      const auto dimension = static_cast<std::size_t>(case_.dimensions[i]);
      is_inside &= at >= 0 && at < (is_rank ? case_.lsa_size : case_.shape[dimension]);
      (is_rank ? copy : offset) += is_rank ? at : at * strides()[dimension];
    }
    if (!is_inside) continue;
    std::memcpy(
        box.data() + element * bytes,
        copies.at(static_cast<std::size_t>(copy)).data() + static_cast<std::size_t>(offset) * bytes,
        bytes);
  }
  return box;
}

std::vector<ArgumentValue> BoxLoader::values(const ArgumentValue& array, cuda::DevicePointer out,
                                             const Coordinates& coordinates) const {
  std::vector<ArgumentValue> values(2, array);
  values[1].pointer = out;
  const auto add = [&values](std::int64_t integer) {
    ArgumentValue value;
    value.integer = integer;
    values.push_back(value);
  };
  for (std::size_t i = 0; i < kMostCoordinates; ++i) {
    add(i < coordinates.size() ? coordinates[i] : 0);
  }
  for (const std::int64_t extent : case_.shape) add(extent);
  for (const std::int64_t stride : case_.strides) add(stride);
  add(0);
  return values;
}

Bytes BoxLoader::load(cuda::DevicePointer array, const Coordinates& coordinates) const {
  const DeviceMemory out(Device::get(0), box_bytes());
  upload(out.address(), Bytes(box_bytes(), std::byte{0xee}));
  ArgumentValue pointer;
  pointer.pointer = array;
  const OwnedStream stream(Device::get(0));
  kernel_->launch(1, stream.get(), values(pointer, out.address(), coordinates).data());
  stream.synchronize();
  return download(out.address(), box_bytes());
}

}  // namespace tilewire::test

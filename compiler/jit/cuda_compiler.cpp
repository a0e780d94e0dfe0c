#include "compiler/jit/cuda_compiler.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/codegen/cuda/embedded_templates.h"
#include "compiler/jit/includes.h"
#include "compiler/support/environment.h"

namespace tilewire {
namespace {

/// Everything that a text can include beside NCCL: made once per form.
const std::vector<Header>& own_headers(NcclForm form) {
  const auto make = [](NcclForm which) {
    std::vector<Header> headers = standard_headers(which);
    for (const EmbeddedFile& file : embedded_templates()) {
      headers.push_back({std::string(file.name), std::string(file.text)});
    }
    if (which == NcclForm::kVirtual) {
      headers.push_back({"nccl_device.h", "#include \"tilewire/virtual_network.cuh\"\n"});
    }
    return headers;
  };
  static const std::vector<Header> slim = make(NcclForm::kSlim);
  static const std::vector<Header> full = make(NcclForm::kFull);
  static const std::vector<Header> without = make(NcclForm::kVirtual);
  return form == NcclForm::kSlim ? slim : form == NcclForm::kFull ? full : without;
}

/// `-minimal` leaves out textures and launches from the device, of which generated code uses none,
/// and saves a tenth of an empty kernel's time. Tested from 12.9 on.
bool knows_minimal(const Nvrtc& nvrtc) { return nvrtc.major() >= 13 || nvrtc.minor() >= 9; }

std::vector<std::string> options_for(const std::string& architecture) {
  std::vector<std::string> options = {fmt::format("--gpu-architecture={}", architecture),
                                      "--std=c++17", "-default-device"};
  if (knows_minimal(Nvrtc::get())) options.emplace_back("-minimal");
  return options;
}

}  // namespace

CudaJob CudaJob::of(std::string source, std::string name, std::string architecture, NcclForm form) {
  const std::vector<Header>& own = own_headers(form);
  if (form != NcclForm::kVirtual && includes(source, own, "nccl_device.h")) {
    return of(std::move(source), std::move(name), std::move(architecture), form,
              *NcclHeaders::find());
  }
  std::vector<Header> headers = reachable_headers(source, own);
  auto options = options_for(architecture);
  return {std::move(source), std::move(name), std::move(architecture), std::move(headers),
          std::move(options)};
}

CudaJob CudaJob::of(std::string source, std::string name, std::string architecture, NcclForm form,
                    const NcclHeaders& nccl) {
  std::vector<Header> pool = own_headers(form);
  const auto& adapted = nccl.headers(form);
  pool.insert(pool.end(), adapted.begin(), adapted.end());
  std::vector<Header> headers = reachable_headers(source, pool);
  auto options = options_for(architecture);
  return {std::move(source), std::move(name), std::move(architecture), std::move(headers),
          std::move(options)};
}

NcclForm network_form(const Target& target) {
  return target.has_virtual_gin ? NcclForm::kVirtual : NcclForm::kFull;
}

void CudaJob::add_to(CacheKey& key) const {
  key.add("nvrtc", Nvrtc::get().version());
  for (const std::string& option : options) key.add("option", option);
  key.add("source", source);
  for (const Header& header : headers) key.add("header", header.name).add("text", header.text);
}

NvrtcResult CudaJob::compile() const {
  const DiskCache& cache = disk_cache();
  return Nvrtc::get().compile({.source = source,
                               .name = name,
                               .headers = headers,
                               .options = options,
                               .save_folder = cache.is_on() ? cache.folder() / "failed" : ""});
}

const DiskCache& disk_cache() {
  static const DiskCache cache(Environment::get().cache_dir);
  return cache;
}

std::string compile_cuda(const CudaJob& job) {
  const bool to_ptx = job.architecture.rfind("compute_", 0) == 0;
  const CacheFormat format = to_ptx ? kPtxFormat : kCubinFormat;
  CacheKey key;
  key.add("schema", "text 1");
  job.add_to(key);
  const std::string hex = key.hex();
  const DiskCache& cache = disk_cache();
  if (auto entry = cache.load(hex, format)) return std::move(entry->binary);
  const DiskCache::Lock lock(cache, hex);
  if (auto entry = cache.load(hex, format)) return std::move(entry->binary);
  NvrtcResult result = job.compile();
  std::string binary = to_ptx ? std::move(result.ptx) : std::move(result.cubin);
  const nlohmann::json description = {{"name", job.name}, {"options", job.options}};
  cache.publish(hex, format, {job.source, binary, description.dump()});
  return binary;
}

bool warm_up_nvrtc(const std::string& architecture) noexcept {
  static constexpr const char* kSource =
      "#include \"tilewire/reduce.cuh\"\n"
      "extern \"C\" __global__ void warm_up(float* x) {\n"
      "  using namespace tilewire::device;\n"
      "  x[threadIdx.x] = reduce_lanes<Sum, kWarpThreads>(x[threadIdx.x]);\n"
      "}\n";
  try {
    CudaJob::of(kSource, "warm_up.cu", architecture, NcclForm::kSlim).compile();
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace tilewire

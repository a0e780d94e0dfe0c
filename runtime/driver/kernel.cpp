#include "runtime/driver/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/driver/launch_registry.h"
#include "runtime/driver/memory.h"
#include "runtime/driver/wait_sites.h"

namespace tilewire {
namespace {

/// Code for a compute capability runs on that one and on later ones of the same major number; with
/// the suffix `a`, on that one only.
bool runs_on(const Target& target, int compute_capability) {
  if (target.architecture.ends_with('a')) return target.compute_capability == compute_capability;
  return target.compute_capability / 10 == compute_capability / 10 &&
         target.compute_capability <= compute_capability;
}

int find_slot(const Artifact& artifact, ArgumentSlot::Kind kind) {
  for (std::size_t i = 0; i < artifact.arguments.size(); ++i) {
    if (artifact.arguments[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

GpuKernel::GpuKernel(const Device& device, std::shared_ptr<const Artifact> artifact,
                     std::size_t device_comm_bytes)
    : device_(device),
      artifact_(std::move(artifact)),
      layout_(ArgumentLayout::of(*artifact_, device_comm_bytes)),
      device_comm_slot_(find_slot(*artifact_, ArgumentSlot::Kind::kDeviceComm)),
      lane_slot_(find_slot(*artifact_, ArgumentSlot::Kind::kLane)),
      counters_slot_(find_slot(*artifact_, ArgumentSlot::Kind::kCounters)) {
  if (!runs_on(artifact_->target, device.compute_capability())) {
    throw UserError(fmt::format(
        "kernel `{}` was compiled for {}, but GPU {} ({}) is {}: compile it for that target",
        artifact_->kernel, artifact_->target.architecture, device.ordinal(), device.name(),
        device.architecture()));
  }
  if (layout_.slots.size() > kMaxArguments) {
    throw UserError(fmt::format("kernel `{}` needs {} arguments; at most {} can be passed",
                                artifact_->kernel, layout_.slots.size(), kMaxArguments));
  }
  if (artifact_->binary.empty()) {
    throw InternalError(fmt::format("kernel `{}` was never compiled", artifact_->kernel));
  }
  load();
  if (counters_slot_ >= 0) {
    counters_ = std::make_unique<LaunchCounters>(device_);
    extents_slot_ = std::max(find_slot(*artifact_, ArgumentSlot::Kind::kExtent), 0);
  }
  prepare_maps();
  site_base_ = register_wait_sites(*artifact_);
}

void GpuKernel::UnloadModule::operator()(cuda::Module module) const {
  const CleanupScope scope(*device);
  if (scope) cuda::api().module_unload(module);  // fails, without harm, in a dead context
}

void GpuKernel::load() {
  api_ = &cuda::api();
  const ContextGuard guard(device_);
  const OutsideCapture outside;
  cuda::Module module = nullptr;
  check_cuda(api_->module_load(&module, artifact_->binary.data()), "cuModuleLoadData");
  module_.reset(module);
  check_cuda(api_->module_function(&function_, module, artifact_->entry.c_str()),
             "cuModuleGetFunction");
  // Lazy loading would load it at its first launch, which can wait for a running kernel to end,
  // while that one waits for this launch.
  if (api_->function_load != nullptr) check_cuda(api_->function_load(function_), "cuFuncLoad");
  const LaunchRules& rules = artifact_->launch;
  if (rules.dynamic_shared_bytes > device_.max_shared_bytes()) {
    throw UserError(fmt::format(
        "kernel `{}` needs {} bytes of shared memory per program instance; GPU {} ({}) has {}",
        artifact_->kernel, rules.dynamic_shared_bytes, device_.ordinal(), device_.name(),
        device_.max_shared_bytes()));
  }
  if (rules.dynamic_shared_bytes > 0) {
    check_cuda(api_->function_set_attribute(function_, cuda::kFunctionMaxDynamicSharedBytes,
                                            rules.dynamic_shared_bytes),
               "cuFuncSetAttribute");
  }
  check_parameters();
  measure();
}

void GpuKernel::prepare_maps() {
  const std::size_t num_maps = artifact_->tensor_maps.size();
  if (num_maps == 0) return;
  if (num_maps > kMaxTensorMaps) {
    throw UserError(fmt::format("kernel `{}` needs {} tensor maps; at most {} can be passed",
                                artifact_->kernel, num_maps, kMaxTensorMaps));
  }
  if (api_->encode_tiled == nullptr) {
    throw BackendError(
        fmt::format("kernel `{}` uses TMA, and this driver has no cuTensorMapEncodeTiled: "
                    "install one of CUDA 12.0 or newer",
                    artifact_->kernel));
  }
  maps_ = std::make_unique<TensorMaps>(
      *artifact_, spare_lines(device_),
      [this](const TensorMapRequest& request, device::TensorMap& made) {
        return encode_tensor_map(device_, request, made);
      });
  for (std::size_t i = 0; i < artifact_->arguments.size(); ++i) {
    const ArgumentSlot& slot = artifact_->arguments[i];
    if (slot.kind != ArgumentSlot::Kind::kTensorMap) continue;
    map_slots_.emplace_back(static_cast<int>(i), slot.index);
  }
}

void GpuKernel::check_parameters() const {
  if (api_->function_parameter == nullptr) return;  // drivers before 12.4 can't tell
  bool has_offset = true;
  for (std::size_t i = 0; i < layout_.slots.size(); ++i) {
    const ArgumentLayout::Slot& slot = layout_.slots[i];
    std::size_t offset = 0;
    std::size_t size = 0;
    const cuda::Result result = api_->function_parameter(function_, i, &offset, &size);
    // What is aligned to more than parameter space itself lies where its place in the constant bank
    // is a multiple, which begins before the parameters: the driver alone knows how far.
    has_offset = has_offset && slot.alignment <= ArgumentLayout::kSpaceAlignment;
    const bool is_there = offset == slot.offset || !has_offset;
    if (result == cuda::kSuccess && is_there && size == slot.size) continue;
    throw InternalError(
        fmt::format("kernel `{}`: argument {} should be {} bytes at offset {}, the compiled "
                    "kernel has {}",
                    artifact_->kernel, i, slot.size, slot.offset,
                    result == cuda::kSuccess ? fmt::format("{} at {}", size, offset) : "none"));
  }
  std::size_t offset = 0;
  std::size_t size = 0;
  if (api_->function_parameter(function_, layout_.slots.size(), &offset, &size) == cuda::kSuccess) {
    throw InternalError(fmt::format("kernel `{}` has more arguments than the {} of its artifact",
                                    artifact_->kernel, layout_.slots.size()));
  }
}

void GpuKernel::measure() {
  const LaunchRules& rules = artifact_->launch;
  if (rules.max_grid > 0 && rules.max_grid < rules.cluster_size) {
    throw InternalError(fmt::format("kernel `{}` may have {} program instances, in clusters of {}",
                                    artifact_->kernel, rules.max_grid, rules.cluster_size));
  }
  if (rules.cluster_size > 1) {
    cuda::LaunchAttribute attribute = {};
    attribute.id = cuda::kLaunchAttributeClusterDimension;
    attribute.value.cluster[0] = static_cast<unsigned>(rules.cluster_size);
    attribute.value.cluster[1] = attribute.value.cluster[2] = 1;
    const cuda::LaunchConfig config = {
        .grid = {static_cast<unsigned>(rules.cluster_size), 1, 1},
        .block = {static_cast<unsigned>(rules.num_threads), 1, 1},
        .shared_bytes = static_cast<unsigned>(rules.dynamic_shared_bytes),
        .stream = nullptr,
        .attributes = &attribute,
        .num_attributes = 1};
    int clusters = 0;
    check_cuda(api_->max_active_clusters(&clusters, function_, &config),
               "cuOccupancyMaxActiveClusters");
    max_coresident_grid_ = clusters * rules.cluster_size;
  } else {
    int per_sm = 0;
    check_cuda(api_->occupancy(&per_sm, function_, rules.num_threads,
                               static_cast<std::size_t>(rules.dynamic_shared_bytes)),
               "cuOccupancyMaxActiveBlocksPerMultiprocessor");
    max_coresident_grid_ = per_sm * device_.num_sms();
  }
  if (max_coresident_grid_ > 0) return;
  throw UserError(
      fmt::format("kernel `{}` with {} threads and {} bytes of shared memory per program "
                  "instance doesn't fit GPU {} ({})",
                  artifact_->kernel, rules.num_threads, rules.dynamic_shared_bytes,
                  device_.ordinal(), device_.name()));
}

int GpuKernel::auto_grid(std::span<const std::int64_t> extents, int limit) const {
  return choose_grid(*artifact_, extents,
                     limit > 0 ? std::min(limit, max_coresident_grid_) : max_coresident_grid_);
}

void GpuKernel::check_grid(std::int64_t grid, int limit) const {
  tilewire::check_grid(*artifact_, grid,
                       limit > 0 ? std::min(limit, max_coresident_grid_) : max_coresident_grid_);
}

std::uint32_t GpuKernel::launch_hash(int grid, const ArgumentValue* values) const {
  if (!artifact_->resources.two_sided) return 0;
  const Protocol& protocol = artifact_->protocol;
  LaunchHash hash(protocol.digest);
  hash.add(static_cast<std::uint64_t>(grid));
  for (const int slot : protocol.slots) hash.add(values[slot].scalar);
  const std::uint32_t result = hash.get();
  if (registered_hash_.load(std::memory_order_relaxed) != result) [[unlikely]] {
    register_launch(result, fmt::format("`{}` on a grid of {}", protocol.name, grid));
    registered_hash_.store(result, std::memory_order_relaxed);
  }
  return result;
}

void GpuKernel::launch(int grid, cuda::Stream stream, const ArgumentValue* values,
                       const LaunchContext& context) const {
  if (maps_ == nullptr) {
    launch_with(nullptr, grid, stream, values, context);
    return;
  }
  device::TensorMap maps[kMaxTensorMaps];
  maps_->make(values, context.lsa_rank, maps);
  launch_with(maps, grid, stream, values, context);
}

/// Of a launch with these arguments.
std::int64_t GpuKernel::num_words(const ArgumentValue* values) const {
  const LaunchRules& rules = artifact_->launch;
  if (rules.arrivals.empty()) return rules.num_counter_words();
  std::int64_t extents[kMaxArguments];
  const std::size_t count = artifact_->dimensions.size();
  for (std::size_t i = 0; i < count; ++i) extents[i] = values[extents_slot_ + i].integer;
  return rules.num_words({extents, count});
}

/// `maps`: one per element of `Artifact::tensor_maps`.
void GpuKernel::launch_with(const device::TensorMap* maps, int grid, cuda::Stream stream,
                            const ArgumentValue* values, const LaunchContext& context) const {
  void* parameters[kMaxArguments];
  const std::size_t num_slots = layout_.slots.size();
  for (std::size_t i = 0; i < num_slots; ++i) {
    parameters[i] = const_cast<ArgumentValue*>(values + i);
  }
  if (device_comm_slot_ >= 0) {
    parameters[device_comm_slot_] = const_cast<void*>(context.device_comm);
  }
  device::Lane lane;
  if (lane_slot_ >= 0) {
    lane = *context.lane;
    lane.site_base = site_base_;
    lane.launch_hash = launch_hash(grid, values);
    parameters[lane_slot_] = &lane;
  }
  cuda::DevicePointer counters = 0;
  if (counters_slot_ >= 0) {
    counters = counters_->of(stream, num_words(values));
    parameters[counters_slot_] = &counters;
  }
  for (const auto& [slot, map] : map_slots_) {
    parameters[slot] = const_cast<device::TensorMap*>(maps + map);
  }
  const LaunchRules& rules = artifact_->launch;
  cuda::LaunchAttribute attributes[2];
  unsigned num_attributes = 0;
  if (rules.cooperative && !context.exclusive) {
    attributes[num_attributes].id = cuda::kLaunchAttributeCooperative;
    attributes[num_attributes++].value.cooperative = 1;
  }
  if (rules.cluster_size > 1) {
    attributes[num_attributes].id = cuda::kLaunchAttributeClusterDimension;
    unsigned* cluster = attributes[num_attributes++].value.cluster;
    cluster[0] = static_cast<unsigned>(rules.cluster_size);
    cluster[1] = cluster[2] = 1;
  }
  const cuda::LaunchConfig config = {
      .grid = {static_cast<unsigned>(grid), 1, 1},
      .block = {static_cast<unsigned>(rules.num_threads), 1, 1},
      .shared_bytes = static_cast<unsigned>(rules.dynamic_shared_bytes),
      .stream = stream,
      .attributes = attributes,
      .num_attributes = num_attributes};
  cuda::Result result = api_->launch(&config, function_, parameters, nullptr);
  if (result == cuda::kErrorInvalidContext) {  // the thread's first CUDA call
    check_cuda(api_->context_set_current(device_.context()), "cuCtxSetCurrent");
    result = api_->launch(&config, function_, parameters, nullptr);
  }
  if (result != cuda::kSuccess) [[unlikely]]
    check_cuda(result, "cuLaunchKernelEx");
}

}  // namespace tilewire

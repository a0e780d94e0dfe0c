#include "runtime/nccl/lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <utility>

#include "compiler/support/environment.h"
#include "compiler/support/error.h"
#include "runtime/driver/misfit.h"
#include "runtime/driver/watchdog.h"

namespace tilewire {
namespace {

constexpr std::size_t kScratchBytes = 16;  // behind the page, for `Lane::tell_peers`
constexpr std::uint32_t kStopRun = 0;
constexpr std::uint32_t kStopHung = 1;
constexpr std::uint32_t kStopAbort = 2;
constexpr std::uint32_t kStopMisfit = 3;

std::uint64_t to_ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }

}  // namespace

LaneShape LaneShape::of(int num_sms, int max_ctas_per_sm, int lsa_size,
                        const LaneNetwork& network) {
  constexpr std::uint64_t kAlignment = 128;
  LaneShape shape;
  shape.num_slots = static_cast<std::uint32_t>(num_sms * max_ctas_per_sm);
  const auto aligned = [](std::uint64_t offset) {
    return (offset + kAlignment - 1) / kAlignment * kAlignment;
  };
  shape.phase_offset = aligned(std::uint64_t{4} * shape.num_slots * lsa_size);
  shape.grid_offset = aligned(shape.phase_offset + std::uint64_t{4} * shape.num_slots);
  shape.launch_offset =
      aligned(shape.grid_offset + std::uint64_t{device::kGridWordBytes} * (lsa_size + 1));
  shape.num_bytes =
      shape.launch_offset + device::kLaunchLogOffset + sizeof(device::LaunchLog) * lsa_size;
  if (network.num_contexts == 0) return shape;
  const auto served = static_cast<std::uint32_t>(network.num_signals / 4 / network.world_size);
  shape.network_slots = std::min(shape.num_slots, served);
  shape.num_contexts = static_cast<std::uint32_t>(network.num_contexts);
  shape.num_signals = std::uint64_t{shape.network_slots} * network.world_size;
  shape.network_phase_offset = aligned(shape.num_bytes);
  shape.staging_offset = aligned(shape.network_phase_offset + 4 * shape.num_signals);
  shape.staging_bytes = kStagingBytes;
  shape.num_bytes = shape.staging_offset + shape.staging_bytes;
  return shape;
}

Lane::Lane(const Device& device, Setup setup)
    : device_(device),
      setup_(std::move(setup)),
      page_memory_(device, sizeof(device::HangPage) + kScratchBytes),
      page_(static_cast<device::HangPage*>(page_memory_.host())),
      event_(device) {
  const Environment& environment = Environment::get();
  arguments_ = {.rank = static_cast<std::uint32_t>(setup_.rank),
                .lsa_rank = static_cast<std::uint16_t>(setup_.rank - setup_.place.first_rank),
                .lsa_size = static_cast<std::uint16_t>(setup_.place.lsa_size),
                .launch_hash = 0,
                .site_base = 0,
                .launch_offset = setup_.shape.launch_offset,
                .lsa_base = setup_.place.flat_base,
                .lsa_stride = setup_.place.stride,
                .local = setup_.window.local,
                .barrier_offset = setup_.shape.barrier_offset,
                .phase_offset = setup_.shape.phase_offset,
                .grid_offset = setup_.shape.grid_offset,
                .hang = reinterpret_cast<device::HangPage*>(page_memory_.device()),
                .report_after_ns = to_ns(environment.report_after_s),
                .timeout_ns = to_ns(environment.timeout_s),
                .window = setup_.window.window,
                .num_slots = setup_.shape.num_slots,
                .network_slots = setup_.shape.network_slots,
                .first_signal = setup_.first_signal,
                .network_phase_offset = setup_.shape.network_phase_offset,
                .staging_offset = setup_.shape.staging_offset,
                .staging_bytes = setup_.shape.staging_bytes,
                .num_contexts = setup_.shape.num_contexts};
  context_ = {.device_comm = setup_.device_comm.data(),
              .lane = &arguments_,
              .exclusive = setup_.exclusive,
              .lsa_rank = arguments_.lsa_rank};
  Watchdog::get().watch(
      page_, {.report_after_s = environment.report_after_s, .timeout_s = environment.timeout_s});
}

device::Lane Lane::place_of(int rank, int lsa_size) {
  device::Lane place = {};
  place.rank = static_cast<std::uint32_t>(rank);
  place.lsa_rank = static_cast<std::uint16_t>(rank % lsa_size);
  place.lsa_size = static_cast<std::uint16_t>(lsa_size);
  return place;
}

Lane::~Lane() { Watchdog::get().unwatch(page_); }

void Lane::launch(const GpuKernel& kernel, int grid, cuda::Stream stream,
                  const ArgumentValue* values) {
  if (stop_word() != kStopRun) [[unlikely]]
    raise_stopped();
  const Resources& resources = kernel.artifact().resources;
  // What stages uses the same memory from launch to launch.
  const bool is_chained =
      resources.two_sided || resources.grid_barrier || resources.staging_bytes > 0;
  if (is_chained && !order_.is_settled(stream)) {
    order_after_last(stream);
  }
  try {
    kernel.launch(grid, stream, values, context_);
  } catch (const Error& error) {
    end(error.message());
    throw;
  }
}

void Lane::order_after_last(cuda::Stream stream) {
  const ContextGuard guard(device_);  // the legacy stream means the current context's
  const Capture capture = capture_of(stream);
  const std::optional<cuda::Stream> before = order_.next(stream, capture);
  if (!before) return;
  if (!capture.active && capture_of(*before).active) {
    throw UserError(
        "this launch must wait for the lane's last one, whose stream is being captured into a "
        "CUDA graph now: launch before the capture begins or after it ends");
  }
  event_.chain(*before, stream);
}

void Lane::check() {
  if (stop_word() != kStopRun) raise_stopped();
}

void Lane::raise_stopped() {
  if (stop_word() == kStopMisfit) raise_misfit();
  Watchdog::get().raise_if_hung();
  if (!end_.empty()) {
    throw UserError(fmt::format(
        "lane {} has ended, since a launch on it failed: make a new communicator. That launch: {}",
        setup_.number, end_));
  }
  if (stop_word() == kStopAbort) {
    throw UserError("this communicator was aborted: make a new one to go on");
  }
  throw HangError(
      "a wait on this lane passed its deadline (TILEWIRE_TIMEOUT); its report is not "
      "readable yet");
}

/// The device sets the word before it writes why.
void Lane::raise_misfit() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (__atomic_load_n(&page_->misfit.is_valid, __ATOMIC_ACQUIRE) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      throw HangError(
          fmt::format("launches on lane {} didn't fit together; which ones is not "
                      "readable yet",
                      setup_.number));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (!std::exchange(has_told_peers_, true)) tell_peers();
  tilewire::raise_misfit(page_->misfit, setup_.rank, setup_.number);
}

void Lane::tell_peers() noexcept {
  if (arguments_.lsa_size == 1) return;
  try {
    const ContextGuard guard(device_);
    const OutsideCapture outside;
    const OwnedStream stream(device_);
    const cuda::Api& api = cuda::api();
    auto* scratch = reinterpret_cast<std::uint64_t*>(page_ + 1);
    const int peer = arguments_.lsa_rank == 0 ? 1 : 0;
    const std::uint64_t logs = arguments_.launch_offset + device::kLaunchLogOffset;
    const cuda::DevicePointer told = reinterpret_cast<cuda::DevicePointer>(arguments_.local) +
                                     logs + sizeof(device::LaunchLog) * peer +
                                     offsetof(device::LaunchLog, num_told);
    check_cuda(api.copy_to_host(scratch, told, sizeof(std::uint32_t), stream.get()),
               "cuMemcpyDtoHAsync");
    stream.synchronize();
    const auto begun = *reinterpret_cast<const std::uint32_t*>(scratch);
    // They wait in the last launch that began here, or in the one that didn't.
    for (const std::uint32_t number : {begun, begun + 1}) {
      scratch[number % 2] = std::uint64_t{number} << 32 | device::kEndedHash;
      const std::uint64_t place = logs + sizeof(device::LaunchLog) * arguments_.lsa_rank +
                                  sizeof(std::uint64_t) * (number % device::kLoggedLaunches);
      for (int rank = 0; rank < arguments_.lsa_size; ++rank) {
        if (rank == arguments_.lsa_rank) continue;
        check_cuda(api.copy_to_device(arguments_.lsa_base + arguments_.lsa_stride * rank + place,
                                      &scratch[number % 2], sizeof(std::uint64_t), stream.get()),
                   "cuMemcpyHtoDAsync");
      }
    }
    stream.synchronize();
  } catch (const Error&) {  // their waits end at their deadline
  }
}

void Lane::stop(std::uint32_t word) { __atomic_store_n(&page_->stop, word, __ATOMIC_RELEASE); }

void Lane::abort() { stop(kStopAbort); }

void Lane::end(const std::string& reason) {
  if (stop_word() != kStopRun) return;
  end_ = reason;
  stop(kStopAbort);
  if (!std::exchange(has_told_peers_, true)) tell_peers();
}

std::uint32_t Lane::stop_word() const { return __atomic_load_n(&page_->stop, __ATOMIC_RELAXED); }

bool Lane::is_stopped() const {
  const std::uint32_t word = stop_word();
  return word != kStopRun && word != kStopHung;
}

bool Lane::has_hung() const { return stop_word() == kStopHung; }

}  // namespace tilewire

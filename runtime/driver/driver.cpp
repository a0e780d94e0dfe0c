#include "runtime/driver/driver.h"

#include <fmt/format.h>

#include <mutex>
#include <vector>

#include "compiler/support/error.h"
#include "runtime/driver/watchdog.h"

namespace tilewire {
namespace {

int attribute(int which, int ordinal) {
  int value = 0;
  check_cuda(cuda::api().device_attribute(&value, which, ordinal), "cuDeviceGetAttribute");
  return value;
}

}  // namespace

std::string cuda_error_text(cuda::Result result, std::string_view call) {
  const char* name = "unknown";
  const char* text = "the driver has no text for it";
  cuda::api().error_name(result, &name);
  cuda::api().error_string(result, &text);
  return fmt::format("CUDA driver: {} failed: {} ({}): {}", call, result, name, text);
}

void check_cuda(cuda::Result result, std::string_view call) {
  if (result == cuda::kSuccess) [[likely]]
    return;
  Watchdog::get().raise_if_hung();
  if (result == cuda::kErrorAssert) {
    throw DeviceAssertionError(
        "an assertion failed on the GPU: where, and with which values, stands on standard output. "
        "This process's GPU context is lost: only a new process can go on");
  }
  throw BackendError(cuda_error_text(result, call));
}

Device& Device::get(int ordinal) {
  static std::mutex mutex;
  static auto* devices = new std::vector<Device*>;
  const std::lock_guard lock(mutex);
  const int num_devices = count();
  if (ordinal < 0 || ordinal >= num_devices) {
    throw UserError(fmt::format("there is no GPU {}: this process sees {} (numbered from 0)",
                                ordinal, num_devices));
  }
  devices->resize(num_devices, nullptr);
  Device*& device = (*devices)[ordinal];
  if (device == nullptr) device = new Device(ordinal);
  return *device;
}

int Device::count() {
  int count = 0;
  check_cuda(cuda::api().device_count(&count), "cuDeviceGetCount");
  return count;
}

int Device::current_ordinal() {
  cuda::Context context = nullptr;
  check_cuda(cuda::api().context_get_current(&context), "cuCtxGetCurrent");
  if (context == nullptr) return 0;
  cuda::DeviceOrdinal ordinal = 0;
  check_cuda(cuda::api().context_device(&ordinal), "cuCtxGetDevice");
  return ordinal;
}

Device::Device(int ordinal) : ordinal_(ordinal) {
  char name[256] = {};
  check_cuda(cuda::api().device_name(name, sizeof(name) - 1, ordinal), "cuDeviceGetName");
  name_ = name;
  num_sms_ = attribute(cuda::kAttributeMultiprocessorCount, ordinal);
  max_ctas_per_sm_ = attribute(cuda::kAttributeMaxBlocksPerMultiprocessor, ordinal);
  max_shared_bytes_ = attribute(cuda::kAttributeMaxSharedMemoryPerBlockOptin, ordinal);
  compute_capability_ = 10 * attribute(cuda::kAttributeComputeCapabilityMajor, ordinal) +
                        attribute(cuda::kAttributeComputeCapabilityMinor, ordinal);
  const OutsideCapture outside;
  check_cuda(cuda::api().primary_context_retain(&context_, ordinal), "cuDevicePrimaryCtxRetain");
}

std::string architecture_name(int compute_capability) {
  // Instructions of one architecture only (wgmma, …) exist from Hopper on, under the suffix `a`.
  return fmt::format("sm_{}{}", compute_capability, compute_capability >= 90 ? "a" : "");
}

std::string Device::architecture() const { return architecture_name(compute_capability_); }

void Device::synchronize() const {
  const ContextGuard guard(*this);
  check_cuda(cuda::api().context_synchronize(), "cuCtxSynchronize");
}

ContextGuard::ContextGuard(const Device& device) {
  check_cuda(cuda::api().context_push(device.context()), "cuCtxPushCurrent");
}

ContextGuard::~ContextGuard() {
  cuda::Context popped = nullptr;
  cuda::api().context_pop(&popped);
}

Capture capture_of(cuda::Stream stream) {
  cuda::CaptureStatus status = cuda::kCaptureNone;
  std::uint64_t id = 0;
  check_cuda(cuda::api().stream_capture_info(stream, &status, &id, nullptr, nullptr, nullptr),
             "cuStreamGetCaptureInfo");
  if (status == cuda::kCaptureNone) return {};
  return {.active = true, .id = id};
}

void refuse_capture(cuda::Stream stream, std::string_view what) {
  // Implicit: the legacy stream, while another stream that synchronises with it is being captured.
  cuda::CaptureStatus status = cuda::kCaptureNone;
  const cuda::Result result = cuda::api().stream_is_capturing(stream, &status);
  if (result != cuda::kErrorCaptureImplicit) check_cuda(result, "cuStreamIsCapturing");
  if (result == cuda::kSuccess && status == cuda::kCaptureNone) return;
  throw UserError(fmt::format(
      "{} can't be recorded into a CUDA graph: do it once before the capture begins, on all ranks, "
      "and keep the result",
      what));
}

// An error of an earlier launch, which this call may report, is told by the calls that follow.
OutsideCapture::OutsideCapture() noexcept
    : changed_(cuda::api().exchange_capture_mode(&mode_) == cuda::kSuccess) {}

OutsideCapture::~OutsideCapture() {
  if (changed_) cuda::api().exchange_capture_mode(&mode_);
}

CleanupScope::CleanupScope(const Device& device) noexcept
    : entered_(!device.is_left_to_exit() &&
               cuda::api().context_push(device.context()) == cuda::kSuccess) {}

CleanupScope::~CleanupScope() {
  cuda::Context popped = nullptr;
  if (entered_) cuda::api().context_pop(&popped);
}

OwnedStream::OwnedStream(const Device& device) {
  const ContextGuard guard(device);
  check_cuda(cuda::api().stream_create(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate");
}

OwnedStream::~OwnedStream() {
  if (stream_ != nullptr) cuda::api().stream_destroy(stream_);
}

void OwnedStream::synchronize() const {
  check_cuda(cuda::api().stream_synchronize(stream_), "cuStreamSynchronize");
}

OwnedEvent::OwnedEvent(const Device& device, bool timing) {
  const ContextGuard guard(device);
  const unsigned flags = timing ? cuda::kEventDefault : cuda::kEventDisableTiming;
  check_cuda(cuda::api().event_create(&event_, flags), "cuEventCreate");
}

OwnedEvent::~OwnedEvent() {
  if (event_ != nullptr) cuda::api().event_destroy(event_);
}

void OwnedEvent::chain(cuda::Stream from, cuda::Stream to) const {
  check_cuda(cuda::api().event_record(event_, from), "cuEventRecord");
  check_cuda(cuda::api().stream_wait_event(to, event_, 0), "cuStreamWaitEvent");
}

}  // namespace tilewire

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/driver/cuda_api.h"

namespace tilewire {

/// Throws where `result` is an error: BackendError with call, code, name and text; HangError where
/// a wait on the device has passed its deadline before (the trap that ends it makes every later
/// call fail, so the deadline is the cause worth reporting).
void check_cuda(cuda::Result result, std::string_view call);

/// The text of a BackendError of the driver: `CUDA driver: cuMemAlloc failed: 2
/// (CUDA_ERROR_OUT_OF_MEMORY): out of memory`.
std::string cuda_error_text(cuda::Result result, std::string_view call);

/// A GPU and its primary context, which PyTorch and every other user of the CUDA runtime share.
/// One object per GPU and process, never destroyed: at exit the driver may be gone before us.
class Device {
 public:
  /// UserError where there is no such GPU.
  static Device& get(int ordinal);
  static int count();
  /// The GPU of the calling thread's current context, 0 where it has none yet.
  static int current_ordinal();

  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  int num_sms() const { return num_sms_; }
  int max_ctas_per_sm() const { return max_ctas_per_sm_; }
  int max_shared_bytes() const { return max_shared_bytes_; }
  /// 90 for compute capability 9.0.
  int compute_capability() const { return compute_capability_; }
  /// What code for this GPU is compiled for: `sm_90a`, `sm_100a`; without `a` before Hopper.
  std::string architecture() const;
  cuda::Context context() const { return context_; }
  /// Waits for all work on this GPU. HangError where a wait there gave up.
  void synchronize() const;
  /// Work on this GPU may never end, and freeing waits for it: from now on the process's end frees.
  void leave_to_exit() const noexcept { left_to_exit_ = true; }
  bool is_left_to_exit() const noexcept { return left_to_exit_; }

 private:
  explicit Device(int ordinal);

  int ordinal_;
  std::string name_;
  int num_sms_ = 0;
  int max_ctas_per_sm_ = 0;
  int max_shared_bytes_ = 0;
  int compute_capability_ = 0;
  cuda::Context context_ = nullptr;
  mutable std::atomic<bool> left_to_exit_ = false;
};

/// `sm_90a` for 90.
std::string architecture_name(int compute_capability);

/// Makes a GPU's primary context current for a scope.
class ContextGuard {
 public:
  explicit ContextGuard(const Device& device);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
};

/// Whether `stream` is being captured into a graph, and into which.
struct Capture {
  bool active = false;
  std::uint64_t id = 0;
};
Capture capture_of(cuda::Stream stream);

/// UserError where `stream` is being captured: `what` allocates or synchronises, which a graph
/// can't record; says to do it before the capture.
void refuse_capture(cuda::Stream stream, std::string_view what);

/// For a scope, this thread may do on other streams what invalidates a capture that it or, in the
/// global mode, any thread has begun: load and unload modules, allocate, free, wait. Such work is
/// done at once and is not part of the graph. Waiting for a whole GPU, or for the stream that is
/// captured, stays forbidden.
class OutsideCapture {
 public:
  OutsideCapture() noexcept;
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  int mode_ = cuda::kCaptureModeRelaxed;  ///< the thread's own, meanwhile
  bool changed_;
};

/// For a scope that gives something of a GPU back, on any thread and at any time: its context is
/// current, captures go on, nothing throws. False where it should be left to the process's end.
class CleanupScope {
 public:
  explicit CleanupScope(const Device& device) noexcept;
  ~CleanupScope();
  CleanupScope(const CleanupScope&) = delete;
  CleanupScope& operator=(const CleanupScope&) = delete;
  explicit operator bool() const { return entered_; }

 private:
  OutsideCapture outside_;
  bool entered_;
};

/// Owns a stream that doesn't synchronise with the legacy stream.
class OwnedStream {
 public:
  explicit OwnedStream(const Device& device);
  ~OwnedStream();
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  cuda::Stream get() const { return stream_; }
  void synchronize() const;

 private:
  cuda::Stream stream_ = nullptr;
};

/// Owns an event.
class OwnedEvent {
 public:
  OwnedEvent(const Device& device, bool timing = false);
  ~OwnedEvent();
  OwnedEvent(const OwnedEvent&) = delete;
  OwnedEvent& operator=(const OwnedEvent&) = delete;
  cuda::Event get() const { return event_; }
  /// Orders later work of `to` behind what `from` holds now.
  void chain(cuda::Stream from, cuda::Stream to) const;

 private:
  cuda::Event event_ = nullptr;
};

}  // namespace tilewire

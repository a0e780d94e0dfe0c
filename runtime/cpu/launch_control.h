#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include "compiler/codegen/cpu/abi.h"

namespace tilewire {

/// Called on the thread that launches, now and then while its launch runs; what it throws ends the
/// launch. The Python module sets the one that sees to Ctrl-C.
using InterruptCheck = void (*)();
void set_interrupt_check(InterruptCheck check);

/// Unwinds an instance of a launch that has ended elsewhere. Never leaves the launch.
struct LaunchStopped {};

/// Ends a launch that is under way, on any number of threads. Made on the thread that launches.
///
/// Its instances call `poll` where they start, wait, and go round a loop (`cpu_check_in`); what
/// lies between two such places isn't interrupted.
class LaunchControl {
 public:
  /// `is_ended`, where given, ends the launch from another thread once it is true; it outlives
  /// this.
  explicit LaunchControl(const std::atomic<bool>* is_ended = nullptr) : is_ended_(is_ended) {}

  /// On the launching thread: calls the interrupt check, unless it was called a moment ago. Throws
  /// what that throws, or HangError where the launch was ended from outside; after it,
  /// LaunchStopped on every other thread.
  void poll();
  /// Whether `poll` would call the check. On the launching thread only.
  bool is_due() const;
  bool is_launching_thread() const { return std::this_thread::get_id() == thread_; }

 private:
  const std::atomic<bool>* is_ended_;
  std::thread::id thread_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point last_check_ = std::chrono::steady_clock::now();
  std::atomic<bool> is_stopped_{false};
};

/// The runtime function `tilewire_check_in`: returns after how many more rounds of its loops the
/// instance has to call it again, about a millisecond's worth. May throw.
std::int64_t cpu_check_in(CpuInstance* instance);

}  // namespace tilewire

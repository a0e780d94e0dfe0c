#include "runtime/cpu/launch_control.h"

#include <algorithm>

#include "compiler/support/error.h"
#include "runtime/cpu/scheduler.h"

namespace tilewire {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kCheckInterval = std::chrono::milliseconds(50);

/// Few enough that a loop whose rounds suddenly take a millisecond is still left within seconds,
/// and many enough that calls cost next to nothing.
constexpr std::int64_t kMaxRounds = 4096;

std::atomic<InterruptCheck> interrupt_check{nullptr};

std::int64_t microseconds_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

void set_interrupt_check(InterruptCheck check) { interrupt_check = check; }

bool LaunchControl::is_due() const { return Clock::now() - last_check_ >= kCheckInterval; }

void LaunchControl::poll() {
  if (!is_launching_thread()) {
    if (is_stopped_.load(std::memory_order_relaxed)) throw LaunchStopped();
    return;
  }
  if (!is_due()) return;
  try {
    if (is_ended_ != nullptr && *is_ended_) throw HangError("the launch was ended from outside");
    if (const InterruptCheck check = interrupt_check) check();
  } catch (...) {
    is_stopped_ = true;
    throw;
  }
  last_check_ = Clock::now();
}

std::int64_t cpu_check_in(CpuInstance* instance) {
  const std::int64_t now = microseconds_now();
  const std::int64_t elapsed = now - instance->checked_in_at;
  if (elapsed < 1000) {
    instance->rounds = std::min(2 * instance->rounds, kMaxRounds);
  } else if (elapsed > 4000) {
    instance->rounds = std::max<std::int64_t>(1, instance->rounds * 1000 / elapsed);
  }
  instance->checked_in_at = now;
  if (instance->scheduler != nullptr) {
    Scheduler::of(*instance).check_in();
  } else if (instance->control != nullptr) {
    static_cast<LaunchControl*>(instance->control)->poll();
  }
  return instance->rounds;
}

}  // namespace tilewire

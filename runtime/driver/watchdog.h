#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// What the waits of a lane were told; for messages.
struct HangLimits {
  double report_after_s = 0.0;
  double timeout_s = 0.0;
};

/// Reads the hang pages of all lanes of the process. Each report is printed once, when it appears;
/// all are kept, and where a wait has given up (its kernel traps, and the GPU's context dies with
/// it), `raise_if_hung` throws the HangError that says which rank never arrived, and at which line.
class Watchdog {
 public:
  /// Takes one printed line, without a line break.
  using Sink = std::function<void(const std::string&)>;

  /// The process's watchdog: prints to stderr. It stops when the process exits, before the driver
  /// takes the pages back, and is never destroyed.
  static Watchdog& get();

  explicit Watchdog(Sink sink, std::chrono::milliseconds interval = std::chrono::milliseconds(20));
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Starts to watch a page, which stays readable until `unwatch`.
  void watch(const device::HangPage* page, HangLimits limits);
  void unwatch(const device::HangPage* page);

  /// Ends the thread and forgets all pages; what was found stays.
  void stop();

  /// Reads all pages now.
  void scan();

  /// Reads all pages now; throws HangError where a wait has given up, now or earlier.
  void raise_if_hung();

  /// The lines printed so far.
  std::vector<std::string> lines() const;

 private:
  struct Watched {
    const device::HangPage* page;
    HangLimits limits;
    bool gave_up = false;
    std::vector<bool> seen;
    std::vector<device::HangReport> reports;
  };
  /// Reports of pages where a wait gave up: the final ones, and all where none is final.
  struct GaveUp {
    HangLimits limits;
    std::vector<device::HangReport> reports;
  };

  void run();
  void scan_locked();
  void scan_page(Watched& watched);
  void print(std::span<const device::HangReport> reports, HangLimits limits);
  static void append_if_gave_up(const Watched& watched, std::vector<GaveUp>& to);

  Sink sink_;
  std::chrono::milliseconds interval_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<Watched> watched_;
  std::vector<GaveUp> past_;  ///< of pages that are no longer watched
  std::vector<std::string> lines_;
  std::thread thread_;
};

}  // namespace tilewire

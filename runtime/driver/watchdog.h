#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// Reads the hang pages of all lanes of the process. Each report is printed once, when it appears;
/// all are kept, and where one is final (its kernel has trapped, and the GPU's context with it),
/// `raise_if_hung` throws the HangError that says which rank never arrived, and at which line.
class Watchdog {
 public:
  /// Takes one printed line, without a line break.
  using Sink = std::function<void(const std::string&)>;

  /// The process's watchdog: prints to stderr. It is never destroyed, so that nothing at exit
  /// waits for its thread or touches a dead context.
  static Watchdog& get();

  explicit Watchdog(Sink sink, std::chrono::milliseconds interval = std::chrono::milliseconds(20));
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Starts to watch a page, which stays readable until `unwatch`. `timeout_s` is for messages.
  void watch(const device::HangPage* page, double timeout_s);
  void unwatch(const device::HangPage* page);

  /// Reads all pages now.
  void scan();

  /// Throws HangError where any watched wait has given up, now or earlier.
  void raise_if_hung();

  /// The lines printed so far.
  std::vector<std::string> lines() const;

 private:
  struct Watched {
    const device::HangPage* page;
    double timeout_s;
    bool seen[device::kMaxHangReports];
  };
  struct Finding {
    device::HangReport report;
    double timeout_s;
  };

  void run();
  void scan_page(Watched& watched);
  void record(const Finding& finding);
  [[noreturn]] void raise() const;

  Sink sink_;
  std::chrono::milliseconds interval_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::vector<Watched> watched_;
  std::vector<Finding> final_reports_;
  std::vector<std::string> lines_;
  std::thread thread_;
};

/// One report as the watchdog prints it.
std::string describe_report(const device::HangReport& report, double timeout_s);

}  // namespace tilewire

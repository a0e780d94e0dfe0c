#include "runtime/driver/watchdog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <tuple>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/driver/wait_sites.h"

namespace tilewire {
namespace {

constexpr std::uint32_t kComplete = 2;  // of HangReport::state
constexpr std::uint32_t kGaveUp = 1;    // of HangPage::stop

/// The GPU writes a report's fields, then its state, with system-scope ordering.
std::uint32_t load_acquire(const std::uint32_t& word) {
  return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

/// Reports that differ in the program instance only are told in one line.
auto group_of(const device::HangReport& report) {
  return std::tuple(report.final, report.rank, report.site, report.peer);
}

std::string describe_instances(std::span<const device::HangReport> group) {
  constexpr std::size_t kListed = 4;
  std::vector<std::uint32_t> ids;
  for (const device::HangReport& report : group.first(std::min(kListed, group.size()))) {
    ids.push_back(report.program_id);
  }
  if (group.size() == 1) return fmt::format("program instance {}", ids[0]);
  if (group.size() <= kListed) return fmt::format("program instances {}", fmt::join(ids, ", "));
  // A page has no room for all of a large grid.
  return fmt::format("program instances {} and at least {} more", fmt::join(ids, ", "),
                     group.size() - kListed);
}

/// `rank 1`, or who else could have ended the wait.
std::string describe_peer(const device::HangReport& report) {
  return report.peer == device::kAnyPeer ? "whoever ends it" : fmt::format("rank {}", report.peer);
}

/// `barrier(team=world) of kernel k (program instance 0; expected 3, saw 2)`
std::string describe_wait(std::span<const device::HangReport> group, const KernelWaitSite& site) {
  return fmt::format("{} of kernel `{}` ({}; expected {}, saw {})", site.site.what, site.kernel,
                     describe_instances(group), group[0].expected, group[0].seen);
}

std::string describe_group(std::span<const device::HangReport> group, HangLimits limits) {
  const device::HangReport& first = group[0];
  const KernelWaitSite site = find_wait_site(first.site);
  const std::string place =
      site.site.location.is_known() ? site.site.location.to_string() + ": " : "";
  if (first.final != 0) {
    return fmt::format("tilewire: {}rank {} gave up after {:g} s: {} never arrived: {}", place,
                       first.rank, limits.timeout_s, describe_peer(first),
                       describe_wait(group, site));
  }
  return fmt::format(
      "tilewire: {}rank {} has waited for {} for {:g} s and gives up after {:g} s: {}", place,
      first.rank, describe_peer(first), limits.report_after_s, limits.timeout_s,
      describe_wait(group, site));
}

[[noreturn]] void raise_hang(std::span<const device::HangReport> reports, HangLimits limits) {
  std::set<std::uint32_t> missing;
  for (const device::HangReport& report : reports) {
    if (report.peer != device::kAnyPeer) missing.insert(report.peer);
  }
  const auto same_wait = [&](const device::HangReport& report) {
    return group_of(report) == group_of(reports[0]);
  };
  std::vector<device::HangReport> group;
  std::copy_if(reports.begin(), reports.end(), std::back_inserter(group), same_wait);
  const KernelWaitSite site = find_wait_site(reports[0].site);
  const std::string who =
      missing.empty()
          ? "what was waited for"
          : fmt::format("{} {}", missing.size() == 1 ? "rank" : "ranks", fmt::join(missing, ", "));
  throw HangError(fmt::format("{} never arrived: rank {} gave up after {:g} s at {}. This "
                              "process's GPU context is lost: only a new process can go on",
                              who, reports[0].rank, limits.timeout_s, describe_wait(group, site)),
                  site.site.location);
}

}  // namespace

Watchdog& Watchdog::get() {
  static Watchdog* const watchdog = [] {
    auto* made = new Watchdog([](const std::string& line) {
      std::fputs((line + "\n").c_str(), stderr);
      std::fflush(stderr);
    });
    // Registered behind the driver's own handlers, so it runs before them.
    std::atexit([] { Watchdog::get().stop(); });
    return made;
  }();
  return *watchdog;
}

Watchdog::Watchdog(Sink sink, std::chrono::milliseconds interval)
    : sink_(std::move(sink)), interval_(interval) {}

Watchdog::~Watchdog() { stop(); }

void Watchdog::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    for (const Watched& watched : watched_) append_if_gave_up(watched, past_);
    watched_.clear();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::watch(const device::HangPage* page, HangLimits limits) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  Watched watched;
  watched.page = page;
  watched.limits = limits;
  watched.seen.resize(2 * device::kMaxHangReports);
  watched_.push_back(std::move(watched));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void Watchdog::unwatch(const device::HangPage* page) {
  const std::lock_guard lock(mutex_);
  scan_locked();
  const auto is_it = [&](const Watched& watched) { return watched.page == page; };
  for (const Watched& watched : watched_) {
    if (is_it(watched)) append_if_gave_up(watched, past_);
  }
  std::erase_if(watched_, is_it);
}

void Watchdog::scan() {
  const std::lock_guard lock(mutex_);
  scan_locked();
}

void Watchdog::raise_if_hung() {
  std::vector<GaveUp> pages;
  {
    const std::lock_guard lock(mutex_);
    scan_locked();
    pages = past_;
    for (const Watched& watched : watched_) append_if_gave_up(watched, pages);
  }
  if (pages.empty()) return;
  std::vector<device::HangReport> reports;
  for (const GaveUp& page : pages) {
    reports.insert(reports.end(), page.reports.begin(), page.reports.end());
  }
  raise_hang(reports, pages[0].limits);
}

std::vector<std::string> Watchdog::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

void Watchdog::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    scan_locked();
    wake_.wait_for(lock, interval_);
  }
}

void Watchdog::scan_locked() {
  for (Watched& watched : watched_) scan_page(watched);
}

void Watchdog::scan_page(Watched& watched) {
  if (load_acquire(watched.page->stop) == kGaveUp) watched.gave_up = true;
  std::vector<device::HangReport> fresh;
  for (std::uint32_t i = 0; i < 2 * device::kMaxHangReports; ++i) {
    const device::HangReport& report =
        watched.page->reports[i / device::kMaxHangReports][i % device::kMaxHangReports];
    if (watched.seen[i] || load_acquire(report.state) != kComplete) continue;
    watched.seen[i] = true;
    watched.gave_up = watched.gave_up || report.final != 0;
    fresh.push_back(report);
  }
  if (fresh.empty()) return;
  watched.reports.insert(watched.reports.end(), fresh.begin(), fresh.end());
  std::stable_sort(fresh.begin(), fresh.end(),
                   [](const auto& a, const auto& b) { return group_of(a) < group_of(b); });
  print(fresh, watched.limits);
}

void Watchdog::print(std::span<const device::HangReport> reports, HangLimits limits) {
  std::size_t begin = 0;
  while (begin < reports.size()) {
    std::size_t end = begin + 1;
    while (end < reports.size() && group_of(reports[end]) == group_of(reports[begin])) ++end;
    lines_.push_back(describe_group(reports.subspan(begin, end - begin), limits));
    sink_(lines_.back());
    begin = end;
  }
}

void Watchdog::append_if_gave_up(const Watched& watched, std::vector<GaveUp>& to) {
  if (!watched.gave_up || watched.reports.empty()) return;
  GaveUp page{.limits = watched.limits, .reports = {}};
  std::copy_if(watched.reports.begin(), watched.reports.end(), std::back_inserter(page.reports),
               [](const device::HangReport& report) { return report.final != 0; });
  // Where the final ones are still on their way, the first ones say the same.
  if (page.reports.empty()) page.reports = watched.reports;
  to.push_back(std::move(page));
}

}  // namespace tilewire

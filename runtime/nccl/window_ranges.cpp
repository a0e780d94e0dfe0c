#include "runtime/nccl/window_ranges.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace tilewire {
namespace {

/// All ranges that live, and a hull around all that ever lived. Ranges of different windows don't
/// overlap unless they are equal.
struct WindowRanges {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> counts;  ///< (end, begin) → windows
  std::atomic<std::uint64_t> lowest = ~std::uint64_t{0};
  std::atomic<std::uint64_t> highest = 0;
};

/// Never destroyed: windows may be released while the process ends.
WindowRanges& ranges() {
  static auto* const all = new WindowRanges;
  return *all;
}

}  // namespace

void add_window_range(std::uint64_t address, std::size_t num_bytes) {
  WindowRanges& all = ranges();
  const std::scoped_lock lock(all.mutex);
  ++all.counts[{address + num_bytes, address}];
  all.lowest = std::min(all.lowest.load(), address);
  all.highest = std::max(all.highest.load(), address + num_bytes);
}

void remove_window_range(std::uint64_t address, std::size_t num_bytes) noexcept {
  WindowRanges& all = ranges();
  const std::scoped_lock lock(all.mutex);
  const auto found = all.counts.find({address + num_bytes, address});
  if (found != all.counts.end() && --found->second == 0) all.counts.erase(found);
}

bool is_in_window(std::uint64_t address) {
  WindowRanges& all = ranges();
  if (address < all.lowest.load(std::memory_order_relaxed) ||
      address >= all.highest.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::scoped_lock lock(all.mutex);
  const auto next = all.counts.upper_bound({address, ~std::uint64_t{0}});
  return next != all.counts.end() && next->first.second <= address;
}

}  // namespace tilewire

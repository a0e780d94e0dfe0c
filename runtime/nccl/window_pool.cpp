#include "runtime/nccl/window_pool.h"

#include <algorithm>
#include <bit>

namespace tilewire {
namespace {

/// What `ncclMemAlloc` rounds to on GPUs with large pages.
constexpr std::uint64_t kSegmentGranularity = std::uint64_t{2} << 20;

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

template <typename Item>
int least_free(const std::map<int, Item>& numbered) {
  int number = 0;
  for (const auto& [taken, item] : numbered) {
    if (taken != number) break;
    ++number;
  }
  return number;
}

}  // namespace

std::uint64_t WindowPool::segment_bytes(std::uint64_t window_bytes) {
  const std::uint64_t unit = std::max(kSegmentGranularity, std::bit_floor(window_bytes) / 8);
  return round_up(std::max<std::uint64_t>(window_bytes, 1), unit);
}

int WindowPool::add_segment(std::uint64_t num_bytes, bool reserved) {
  const int number = least_free(segments_);
  segments_[number] = {.num_bytes = num_bytes, .reserved = reserved, .taken = {}};
  return number;
}

std::vector<int> WindowPool::empty_segments() const {
  std::vector<int> empty;
  for (const auto& [number, segment] : segments_) {
    if (segment.taken.empty() && !segment.reserved) empty.push_back(number);
  }
  return empty;
}

std::optional<int> WindowPool::take(std::uint64_t num_bytes) {
  const std::uint64_t needed = round_up(std::max<std::uint64_t>(num_bytes, 1), kAlignment);
  std::optional<Place> best;
  std::uint64_t least_room = 0;
  for (const auto& [number, segment] : segments_) {
    std::uint64_t begin = 0;
    const auto consider = [&](std::uint64_t end) {
      const std::uint64_t room = end - begin;
      if (room < needed || (best && room >= least_room)) return;
      best = Place{.segment = number, .offset = begin, .num_bytes = needed};
      least_room = room;
    };
    for (const auto& [offset, size] : segment.taken) {
      consider(offset);
      begin = offset + size;
    }
    consider(segment.num_bytes);
  }
  if (!best) return std::nullopt;
  segments_.at(best->segment).taken[best->offset] = needed;
  const int window = least_free(windows_);
  windows_[window] = *best;
  return window;
}

void WindowPool::free(int window) {
  const Place& place = windows_.at(window);
  segments_.at(place.segment).taken.erase(place.offset);
  windows_.erase(window);
  const std::lock_guard lock(mutex_);
  dropped_.erase(window);
}

void WindowPool::drop(int window) {
  const std::lock_guard lock(mutex_);
  dropped_.insert(window);
}

WindowPool::DroppedBits WindowPool::dropped() const {
  const std::lock_guard lock(mutex_);
  DroppedBits bits = {};
  for (const int window : dropped_) {
    if (window < kMaxDropped) bits[window / 64] |= std::uint64_t{1} << (window % 64);
  }
  return bits;
}

std::vector<int> WindowPool::free_dropped(const DroppedBits& by_all) {
  std::vector<int> freed;
  for (int window = 0; window < kMaxDropped; ++window) {
    if ((by_all[window / 64] >> (window % 64) & 1) == 0) continue;
    free(window);
    freed.push_back(window);
  }
  return freed;
}

std::uint64_t WindowPool::digest() const {
  std::uint64_t digest = 0xcbf29ce484222325;  // FNV-1a, of 64 bits at a time
  const auto add = [&digest](std::uint64_t value) {
    digest = (digest ^ value) * 0x100000001b3;
    digest ^= digest >> 29;
  };
  for (const auto& [number, segment] : segments_) {
    add(static_cast<std::uint64_t>(number));
    add(segment.num_bytes);
  }
  for (const auto& [window, place] : windows_) {
    add(static_cast<std::uint64_t>(window));
    add(static_cast<std::uint64_t>(place.segment));
    add(place.offset);
    add(place.num_bytes);
  }
  return digest;
}

}  // namespace tilewire

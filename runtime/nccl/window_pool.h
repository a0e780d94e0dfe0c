#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

namespace tilewire {

/// Which windows lie where in registered memory: book-keeping without memory, alike on all ranks,
/// since every step but `drop` is made by all of them in one order. A segment is one registration.
///
/// Windows are given up in an order that differs by rank (Python collects them). So a dropped
/// window stays where it is until the ranks agree, at their next allocation, that all have dropped
/// it.
class WindowPool {
 public:
  /// Windows start at multiples of this many bytes.
  static constexpr std::uint64_t kAlignment = 512;
  /// Windows of higher numbers are given back by hand only.
  static constexpr int kMaxDropped = 1536;
  using DroppedBits = std::array<std::uint64_t, kMaxDropped / 64>;

  struct Place {
    int segment = 0;
    std::uint64_t offset = 0;
    std::uint64_t num_bytes = 0;  ///< rounded up
    bool operator==(const Place&) const = default;
  };

  /// Of a segment that is registered for a window of this size: classes, an eighth apart, so that a
  /// window of nearly the same size finds room where one was given back.
  static std::uint64_t segment_bytes(std::uint64_t window_bytes);

  /// The number of a new segment: the least that is free. `reserved`: it stays when it is empty.
  int add_segment(std::uint64_t num_bytes, bool reserved);
  void remove_segment(int segment) { segments_.erase(segment); }
  /// Those that hold no window and aren't reserved.
  std::vector<int> empty_segments() const;

  /// Takes the smallest hole that a window fits in; its number, the least that is free. Nothing
  /// where no segment has room.
  std::optional<int> take(std::uint64_t num_bytes);
  const Place& place(int window) const { return windows_.at(window); }
  bool has(int window) const { return windows_.contains(window); }
  /// All ranks give it back, now.
  void free(int window);

  /// This rank has no use for it any more. From any thread, at any time.
  void drop(int window);
  DroppedBits dropped() const;
  /// Gives back what every rank has dropped, given as the `and` of their bits; those windows.
  std::vector<int> free_dropped(const DroppedBits& by_all);

  /// Of all segments and windows: equal on ranks whose windows lie at equal offsets.
  std::uint64_t digest() const;

 private:
  struct Segment {
    std::uint64_t num_bytes = 0;
    bool reserved = false;
    std::map<std::uint64_t, std::uint64_t> taken;  ///< offset → bytes
  };

  std::map<int, Segment> segments_;
  std::map<int, Place> windows_;
  mutable std::mutex mutex_;  ///< of `dropped_`
  std::set<int> dropped_;
};

}  // namespace tilewire

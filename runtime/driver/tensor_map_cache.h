#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>

#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// The tensor maps that were made last, by the words of a launch's arguments that they follow from.
/// Of a fixed size: a new map takes the place of another one. Any thread may ask and add, without a
/// lock: each line has a version that is odd while it is being written (a seqlock), and who writes
/// at the same time as another leaves its own map out.
class TensorMapCache {
 public:
  static constexpr std::size_t kMaxWords = 12;

  /// Copies the map of these words; false where it isn't there.
  bool find(std::span<const std::uint64_t> words, device::TensorMap& map) const;
  /// `words`: at most kMaxWords, and of all calls as many.
  void add(std::span<const std::uint64_t> words, const device::TensorMap& map);

 private:
  static constexpr std::size_t kNumLines = 16;
  static constexpr std::size_t kMapWords = sizeof(device::TensorMap) / sizeof(std::uint64_t);
  struct Line {
    std::atomic<std::uint32_t> version = 0;  ///< 0: never written
    std::array<std::atomic<std::uint64_t>, kMaxWords> words{};
    std::array<std::atomic<std::uint64_t>, kMapWords> map{};
  };
  static std::size_t line_of(std::span<const std::uint64_t> words);

  std::array<Line, kNumLines> lines_;
};

}  // namespace tilewire

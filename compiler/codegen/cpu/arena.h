#pragma once

#include <cstdint>
#include <map>

namespace tilewire {

/// Places tiles in a program instance's arena at compile time. Space that is released is used again
/// (first fit).
class Arena {
 public:
  static constexpr std::int64_t kAlignment = 64;

  /// An offset in bytes, a multiple of `kAlignment`.
  std::int64_t allocate(std::int64_t num_bytes);
  void release(std::int64_t offset);

  /// Bytes that hold all that was ever allocated.
  std::int64_t num_bytes() const { return end_; }

 private:
  std::map<std::int64_t, std::int64_t> used_;  ///< offset → bytes
  std::int64_t end_ = 0;
};

}  // namespace tilewire

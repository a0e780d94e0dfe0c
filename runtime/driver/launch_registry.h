#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "templates/tilewire/abi.cuh"

namespace tilewire {

/// The two-sided launches of this process by their hash, so that a report which has only the hash
/// can name the kernel. A fixed number is kept: the first of each hash.

/// Of `protocol` (see `Artifact::protocol`), a grid and run-time integers: never 0 or
/// `device::kEndedHash`.
class LaunchHash {
 public:
  explicit LaunchHash(std::uint64_t digest) : state_(digest) {}
  LaunchHash& add(std::uint64_t value) {
    // The finaliser of splitmix64.
    state_ += 0x9e3779b97f4a7c15 + value;
    state_ = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    state_ = (state_ ^ (state_ >> 27)) * 0x94d049bb133111eb;
    state_ ^= state_ >> 31;
    return *this;
  }
  std::uint32_t get() const {
    const auto folded = static_cast<std::uint32_t>(state_ ^ (state_ >> 32));
    return folded > device::kEndedHash ? folded : ~folded;
  }

 private:
  std::uint64_t state_;
};

void register_launch(std::uint32_t hash, const std::string& name);

/// `` `all_reduce(B=2048)` on a grid of 16 ``; nothing for a launch that this process never made.
std::optional<std::string> find_launch(std::uint32_t hash);

}  // namespace tilewire

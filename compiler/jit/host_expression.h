#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewire {

/// A step of a machine with a stack, which computes a number from a launch's run-time dimensions.
struct HostStep {
  enum class Kind : std::uint8_t {
    kNumber,     ///< pushes `number`
    kDimension,  ///< pushes the extent `number` of `Program::dimensions`
    kAdd,        ///< these take two numbers, and push one
    kSubtract,
    kMultiply,
    kFloorDivide,  ///< by 0: 0, as in programs; what doesn't fit is an error here
    kModulo,
    kMinimum,
    kMaximum,
  };
  Kind kind = Kind::kNumber;
  std::int64_t number = 0;
  bool operator==(const HostStep&) const = default;
};

/// In reverse Polish order; empty: 0.
using HostExpression = std::vector<HostStep>;

/// UserError where a number on the way doesn't fit into 64 bits, InternalError where the steps
/// leave something else than one number.
std::int64_t evaluate(const HostExpression& expression, std::span<const std::int64_t> extents);

}  // namespace tilewire

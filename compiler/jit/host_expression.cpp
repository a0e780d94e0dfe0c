#include "compiler/jit/host_expression.h"

#include <algorithm>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// UserError where the number doesn't fit into 64 bits.
template <typename Operation>
std::int64_t checked(const Operation& overflows, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (!overflows(a, b, &result)) return result;
  throw UserError(
      "the number of places at which instances arrive doesn't fit into 64 bits: give tw.arrive "
      "fewer "
      "(places=), or tw.tiles larger tiles");
}

std::int64_t add(std::int64_t a, std::int64_t b) {
  return checked([](auto x, auto y, auto* to) { return __builtin_add_overflow(x, y, to); }, a, b);
}
std::int64_t subtract(std::int64_t a, std::int64_t b) {
  return checked([](auto x, auto y, auto* to) { return __builtin_sub_overflow(x, y, to); }, a, b);
}
std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return checked([](auto x, auto y, auto* to) { return __builtin_mul_overflow(x, y, to); }, a, b);
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return subtract(0, a);
  const std::int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t apply(HostStep::Kind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case HostStep::Kind::kAdd:
      return add(a, b);
    case HostStep::Kind::kSubtract:
      return subtract(a, b);
    case HostStep::Kind::kMultiply:
      return multiply(a, b);
    case HostStep::Kind::kFloorDivide:
      return floor_divide(a, b);
    case HostStep::Kind::kModulo:
      return b == 0 || b == -1 ? 0 : a - floor_divide(a, b) * b;
    case HostStep::Kind::kMinimum:
      return std::min(a, b);
    case HostStep::Kind::kMaximum:
      return std::max(a, b);
    case HostStep::Kind::kNumber:
    case HostStep::Kind::kDimension:
      break;
  }
  throw InternalError("a step of a host expression that takes no numbers");
}

}  // namespace

std::int64_t evaluate(const HostExpression& expression, std::span<const std::int64_t> extents) {
  if (expression.empty()) return 0;
  std::vector<std::int64_t> stack;
  for (const HostStep& step : expression) {
    if (step.kind == HostStep::Kind::kNumber) {
      stack.push_back(step.number);
      continue;
    }
    if (step.kind == HostStep::Kind::kDimension) {
      const auto index = static_cast<std::size_t>(step.number);
      if (index >= extents.size()) throw InternalError("a host expression names no dimension");
      stack.push_back(extents[index]);
      continue;
    }
    if (stack.size() < 2) throw InternalError("a host expression lacks a number");
    const std::int64_t b = stack.back();
    stack.pop_back();
    stack.back() = apply(step.kind, stack.back(), b);
  }
  if (stack.size() != 1) throw InternalError("a host expression leaves several numbers");
  return stack.back();
}

}  // namespace tilewire

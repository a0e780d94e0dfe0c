#include "compiler/passes/linear.h"

namespace tilewire {
namespace {

constexpr std::size_t kMaxTerms = 16;

/// total += factor · value; false where that overflows.
bool accumulate(std::int64_t& total, std::int64_t value, std::int64_t factor) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(value, factor, &product) &&
         !__builtin_add_overflow(total, product, &total) && total != INT64_MIN;
}

}  // namespace

std::optional<Linear> add_scaled(const Linear& a, const Linear& b, std::int64_t factor) {
  Linear sum = a;
  if (!accumulate(sum.constant, b.constant, factor)) return std::nullopt;
  for (const auto& [value, coefficient] : b.terms) {
    std::int64_t& total = sum.terms[value];
    if (!accumulate(total, coefficient, factor)) return std::nullopt;
    if (total == 0) sum.terms.erase(value);
  }
  if (sum.terms.size() > kMaxTerms) return std::nullopt;
  return sum;
}

}  // namespace tilewire

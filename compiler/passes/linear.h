#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "compiler/ir/program.h"

namespace tilewire {

/// Values of a program in the order in which they were made: where they lie in memory differs from
/// run to run, and what is proven, and so the text, must not.
struct ByNumber {
  bool operator()(const Value* a, const Value* b) const { return a->number < b->number; }
};

/// `constant + Σ coefficient · value` over index values. Operations give nothing where a
/// coefficient would overflow or the sum would grow long: whoever asks then knows nothing, which is
/// always safe.
struct Linear {
  std::int64_t constant = 0;
  std::map<const Value*, std::int64_t, ByNumber> terms;  ///< no coefficient is 0

  static Linear of(std::int64_t constant) { return {constant, {}}; }
  static Linear of_value(const Value* value) { return {0, {{value, 1}}}; }
  bool is_constant() const { return terms.empty(); }
};

/// a + factor · b
std::optional<Linear> add_scaled(const Linear& a, const Linear& b, std::int64_t factor);

}  // namespace tilewire

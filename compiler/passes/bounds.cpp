#include "compiler/passes/bounds.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

constexpr int kProofBudget = 128;  ///< substitutions tried before a proof is given up
constexpr std::int64_t kMaxGrid = std::numeric_limits<std::int32_t>::max();

std::int64_t scaled(std::int64_t divisor, std::int64_t factor) {
  std::int64_t product = 0;
  const bool fits = !__builtin_mul_overflow(divisor, factor, &product) && product != INT64_MIN;
  return fits ? product : divisor;
}

}  // namespace

Bounds::Bounds(const Program& program) : program_(program), counters_(find_counters(program)) {
  for (const auto& [name, value] : program.dimensions) extents_[value] = true;
  for_each_statement(program.body, [this](const Statement& statement) {
    if (statement.kind == StatementKind::kFor && statement.iterate() == Iterate::kRange) {
      loops_[statement.regions[0].arguments[0]] = &statement;
    }
  });
}

const Statement* Bounds::loop_of(const Value* index) const {
  const auto found = loops_.find(index);
  return found == loops_.end() ? nullptr : found->second;
}

std::optional<Linear> Bounds::decompose(const Statement& op) {
  std::int64_t constant = 0;
  if (is_integer_constant(op.result(), constant)) {
    return constant == INT64_MIN ? std::nullopt : std::optional(Linear::of(constant));
  }
  if (op.is("neg")) return add_scaled({}, linear(op.operands[0]), -1);
  if (op.is("add")) return add_scaled(linear(op.operands[0]), linear(op.operands[1]), 1);
  if (op.is("sub")) return add_scaled(linear(op.operands[0]), linear(op.operands[1]), -1);
  if (!op.is("mul")) return std::nullopt;
  const Linear a = linear(op.operands[0]);
  const Linear b = linear(op.operands[1]);
  if (b.is_constant()) return add_scaled({}, a, b.constant);
  if (a.is_constant()) return add_scaled({}, b, a.constant);
  return std::nullopt;
}

Linear Bounds::linear(const Value* value) {
  const auto known = linears_.find(value);
  if (known != linears_.end()) return known->second;
  std::optional<Linear> sum;
  if (value->type == Type::scalar(kIndex) && value->definition != nullptr) {
    sum = decompose(*value->definition);
  }
  return linears_[value] = sum.value_or(Linear::of_value(value));
}

/// Greater than the depth of everything that the value's bounds mention.
int Bounds::depth(const Value* value) {
  const auto known = depths_.find(value);
  if (known != depths_.end()) return known->second;
  const Statement* source = value->definition != nullptr ? value->definition : loop_of(value);
  int deepest = 0;
  if (const auto counter = counters_.find(value); counter != counters_.end()) {
    deepest = depth(counter->second.initial) + 1;
    if (counter->second.limit != nullptr) {
      deepest = std::max(deepest, depth(counter->second.limit) + 1);
    }
  }
  if (source != nullptr) {
    for (const Value* operand : source->operands) deepest = std::max(deepest, depth(operand) + 1);
  }
  return depths_[value] = deepest;
}

bool Bounds::at_least(const Value* a, const Value* b, std::int64_t offset) {
  std::optional<Linear> difference = add_scaled(linear(a), linear(b), -1);
  if (difference) difference = add_scaled(*difference, Linear::of(offset), -1);
  return difference && is_non_negative(*difference);
}

bool Bounds::is_at_least(const Value* a, std::int64_t constant) {
  const auto known = proven_.find({a, constant});
  if (known != proven_.end()) return known->second;
  const std::optional<Linear> difference = add_scaled(linear(a), Linear::of(constant), -1);
  const bool holds = difference && is_non_negative(*difference);
  return proven_[{a, constant}] = holds;
}

bool Bounds::is_non_negative(const Linear& sum) {
  int budget = kProofBudget;
  return prove(sum, budget);
}

/// Replaces the deepest value by what bounds it from the side that makes the sum smaller, until
/// only a constant is left.
bool Bounds::prove(const Linear& sum, int& budget) {
  if (sum.is_constant()) return sum.constant >= 0;
  if (--budget < 0) return false;
  const auto [value, coefficient] = *std::max_element(
      sum.terms.begin(), sum.terms.end(),
      [this](const auto& a, const auto& b) { return depth(a.first) < depth(b.first); });
  const SideBounds sides = bounds_of(value, coefficient < 0);
  const std::optional<Linear> rest = add_scaled(sum, Linear::of_value(value), -coefficient);
  if (!rest) return false;
  for (const Side& side : sides.any) {
    if (coefficient % side.factor != 0) continue;
    const std::optional<Linear> smaller = add_scaled(*rest, side.sum, coefficient / side.factor);
    if (smaller && prove(*smaller, budget)) return true;
  }
  return !sides.all.empty() &&
         std::all_of(sides.all.begin(), sides.all.end(), [&](const Linear& each) {
           const std::optional<Linear> smaller = add_scaled(*rest, each, coefficient);
           return smaller && prove(*smaller, budget);
         });
}

/// As `prove`, but looks for the best that can be said.
std::optional<std::int64_t> Bounds::least(const Linear& sum, int& budget) {
  if (sum.is_constant()) return sum.constant;
  if (--budget < 0) return std::nullopt;
  const auto [value, coefficient] = *std::max_element(
      sum.terms.begin(), sum.terms.end(),
      [this](const auto& a, const auto& b) { return depth(a.first) < depth(b.first); });
  const std::optional<Linear> rest = add_scaled(sum, Linear::of_value(value), -coefficient);
  if (!rest) return std::nullopt;
  std::optional<std::int64_t> best;
  for (const Side& side : bounds_of(value, coefficient < 0).any) {
    if (coefficient % side.factor != 0) continue;
    const std::optional<Linear> smaller = add_scaled(*rest, side.sum, coefficient / side.factor);
    const std::optional<std::int64_t> found = smaller ? least(*smaller, budget) : std::nullopt;
    if (found && (!best || *found > *best)) best = found;
  }
  return best;
}

std::optional<std::int64_t> Bounds::greatest(const Value* value) {
  const auto known = greatest_.find(value);
  if (known != greatest_.end()) return known->second;
  std::optional<std::int64_t> bound;
  int budget = kProofBudget;
  if (const std::optional<Linear> negated = add_scaled({}, linear(value), -1)) {
    bound = least(*negated, budget);
  }
  if (bound && *bound != INT64_MIN) bound = -*bound;
  return greatest_[value] = bound;
}

Bounds::SideBounds Bounds::bounds_of(const Value* value, bool upper) {
  SideBounds bounds;
  if (extents_.contains(value)) {
    if (!upper) bounds.any.push_back({1, Linear::of(0)});
  } else if (const Statement* loop = loop_of(value)) {
    loop_bounds(*loop, upper, bounds);
  } else if (const auto counter = counters_.find(value); counter != counters_.end()) {
    counter_bounds(counter->second, upper, bounds);
  } else if (value->definition != nullptr && value->definition->kind == StatementKind::kOp) {
    op_bounds(*value->definition, upper, bounds);
  }
  return bounds;
}

void Bounds::loop_bounds(const Statement& loop, bool upper, SideBounds& into) {
  const Value* step = loop.operands[2];
  if (!is_at_least(step, 1)) return;
  const Linear first = linear(loop.operands[0]);
  if (!upper) {
    into.any.push_back({1, first});
    return;
  }
  const Linear end = linear(loop.operands[1]);
  std::int64_t distance = 1;  // from the last index to the end, at least
  std::int64_t constant_step = 0;
  const std::optional<Linear> length = add_scaled(end, first, -1);
  if (length && is_integer_constant(step, constant_step)) {
    if (divisor(*length) % constant_step == 0) {
      distance = constant_step;
    } else if (length->is_constant() && length->constant > 0) {
      distance = (length->constant - 1) % constant_step + 1;
    }
  }
  if (const auto last = add_scaled(end, Linear::of(distance), -1)) into.any.push_back({1, *last});
}

/// From its initial value on, to before its limit.
void Bounds::counter_bounds(const Counter& counter, bool upper, SideBounds& into) {
  const bool climbs = counter.step > 0;
  if (upper != climbs) {
    into.any.push_back({1, linear(counter.initial)});
  } else if (counter.limit != nullptr) {
    const auto last = add_scaled(linear(counter.limit), Linear::of(climbs ? -1 : 1), 1);
    if (last) into.any.push_back({1, *last});
  }
}

void Bounds::op_bounds(const Statement& op, bool upper, SideBounds& into) {
  const auto constant = [&](std::int64_t bound) { into.any.push_back({1, Linear::of(bound)}); };
  const auto operand = [&](std::size_t i) { return linear(op.operands.at(i)); };
  std::int64_t divisor = 0;
  if (op.is("program_id")) {
    constant(upper ? kMaxGrid - 1 : 0);
  } else if (op.is("num_programs")) {
    constant(upper ? kMaxGrid : 1);
  } else if (op.is("rank")) {
    const int size = op.text("team") == "lsa" ? program_.lsa_size : program_.world_size;
    constant(upper ? size - 1 : 0);
  } else if (op.is("extent")) {
    if (!upper) constant(0);
  } else if (op.is("non_negative")) {
    if (!upper) constant(0);
    into.any.push_back({1, operand(0)});
  } else if (op.is("floordiv") && is_integer_constant(op.operands[1], divisor) && divisor > 0) {
    if (!upper && is_at_least(op.operands[0], 0)) constant(0);
    const auto bound = add_scaled(operand(0), Linear::of(upper ? 0 : divisor - 1), -1);
    if (bound) into.any.push_back({divisor, *bound});
    if (upper) {
      const std::optional<std::int64_t> most = greatest(op.operands[0]);
      if (most && *most >= 0) constant(*most / divisor);
    }
  } else if (op.is("mod") && is_integer_constant(op.operands[1], divisor) && divisor > 0) {
    constant(upper ? divisor - 1 : 0);
    if (upper && is_at_least(op.operands[0], 0)) into.any.push_back({1, operand(0)});
  } else if (op.is("minimum") || op.is("maximum")) {
    // One of both, and beyond neither on one side.
    if (upper == op.is("minimum")) {
      into.any = {{1, operand(0)}, {1, operand(1)}};
    } else {
      into.all = {operand(0), operand(1)};
    }
  } else if (op.is("select")) {
    into.all = {operand(1), operand(2)};
  } else if (op.is("mul") || op.is("abs")) {
    const bool is_square = op.is("abs") || op.operands[0] == op.operands[1];
    const bool is_positive =
        is_square || (is_at_least(op.operands[0], 0) && is_at_least(op.operands[1], 0));
    if (!upper && is_positive) constant(0);
  } else if (op.is("cast")) {
    const DType from = op.operands[0]->type.dtype;
    if (from == DType::kBool) return constant(upper ? 1 : 0);
    if (!is_integer(from) || num_bytes(from) == 8) return;
    const std::int64_t range = std::int64_t{1} << (8 * num_bytes(from) - (is_signed(from) ? 1 : 0));
    constant(upper ? range - 1 : is_signed(from) ? -range : 0);
  }
}

std::int64_t Bounds::divisor(const Linear& sum) {
  std::int64_t common = sum.constant;
  for (const auto& [value, coefficient] : sum.terms) {
    common = std::gcd(common, scaled(own_divisor(value), coefficient));
  }
  return common;
}

std::int64_t Bounds::divisor(const Value* value) { return divisor(linear(value)); }

bool Bounds::is_multiple(const Value* value, std::int64_t of) { return divisor(value) % of == 0; }

bool Bounds::is_multiple(const Linear& sum, std::int64_t of) { return divisor(sum) % of == 0; }

/// Of a value that doesn't decompose.
std::int64_t Bounds::own_divisor(const Value* value) {
  if (const Statement* loop = loop_of(value)) {
    return std::gcd(divisor(loop->operands[0]), divisor(loop->operands[2]));
  }
  if (const auto counter = counters_.find(value); counter != counters_.end()) {
    return std::gcd(divisor(counter->second.initial), counter->second.step);
  }
  const Statement* op = value->definition;
  if (op == nullptr || op->kind != StatementKind::kOp) return 1;
  std::int64_t by = 0;
  if (op->is("mul")) return scaled(divisor(op->operands[0]), divisor(op->operands[1]));
  if (op->is("minimum") || op->is("maximum")) {
    return std::gcd(divisor(op->operands[0]), divisor(op->operands[1]));
  }
  if (op->is("select")) return std::gcd(divisor(op->operands[1]), divisor(op->operands[2]));
  if (op->is("mod") && is_integer_constant(op->operands[1], by) && by > 0) {
    return std::gcd(divisor(op->operands[0]), by);
  }
  if (op->is("floordiv") && is_integer_constant(op->operands[1], by) && by > 0) {
    const std::int64_t whole = divisor(op->operands[0]);
    return whole % by == 0 ? whole / by : 1;
  }
  return 1;
}

}  // namespace tilewire

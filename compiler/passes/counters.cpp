#include "compiler/passes/counters.h"

#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

/// The constant that `next` adds to `value`; 0 where it is something else.
std::int64_t step_from(const Value* value, const Value* next) {
  const Statement* add = next->definition;
  if (add == nullptr || !add->is("add")) return 0;
  std::int64_t step = 0;
  for (const std::size_t i : {0, 1}) {
    if (add->operands[i] == value && is_integer_constant(add->operands[1 - i], step)) return step;
  }
  return 0;
}

/// Looks through `and` for a comparison that keeps `value` on its way to a limit.
const Value* limit_of(const Value* value, const Value* condition, bool upwards) {
  const Statement* test = condition->definition;
  if (test == nullptr) return nullptr;
  if (test->is("and")) {
    const Value* limit = limit_of(value, test->operands[0], upwards);
    return limit != nullptr ? limit : limit_of(value, test->operands[1], upwards);
  }
  if (test->is(upwards ? "lt" : "gt") && test->operands[0] == value) return test->operands[1];
  if (test->is(upwards ? "gt" : "lt") && test->operands[1] == value) return test->operands[0];
  return nullptr;
}

}  // namespace

std::unordered_map<const Value*, Counter> find_counters(const Program& program) {
  std::unordered_map<const Value*, Counter> counters;
  for_each_statement(program.body, [&](const Statement& loop) {
    if (loop.kind != StatementKind::kWhile) return;
    const Region& condition = loop.regions[0];
    const Value* goes_on = condition.statements.back()->operands[0];
    for (std::size_t i = 0; i < loop.operands.size(); ++i) {
      const Value* inside = loop.body().arguments[i];
      if (inside->type != Type::scalar(kIndex)) continue;
      const std::int64_t step = step_from(inside, loop.body().statements.back()->operands[i]);
      if (step == 0) continue;
      const Value* tested = condition.arguments[i];
      counters[tested] = {loop.operands[i], step, nullptr};
      counters[inside] = {loop.operands[i], step, limit_of(tested, goes_on, step > 0)};
    }
  });
  return counters;
}

}  // namespace tilewire

#include "compiler/codegen/cuda/schedule.h"

#include <algorithm>
#include <set>
#include <span>

#include "compiler/codegen/cuda/sync_plan.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

/// Registers are dear: no more than this many bytes of tiles per thread come early.
constexpr std::int64_t kMaxEarlyBytes = 320;

bool is_fence(const Statement& statement) {
  return statement.kind != StatementKind::kOp || statement.op->effect == Effect::kWrites ||
         statement.op->effect == Effect::kSynchronises;
}

/// Adds `statement` and what it needs of the values in `late` to `cone`; false where that isn't all
/// cheap and pure.
bool collect(const Statement& statement, int num_threads, const std::set<const Value*>& late,
             std::set<const Statement*>& cone) {
  cone.insert(&statement);
  return std::ranges::all_of(statement.operands, [&](const Value* value) {
    if (!late.contains(value)) return true;
    const Statement& definition = *value->definition;
    return !value->type.is_tile() && shared_bytes_of(definition, num_threads) == 0 &&
           definition.op->effect == Effect::kPure && collect(definition, num_threads, late, cone);
  });
}

/// Moves loads to the front of a stretch that holds no fence.
void bring_loads_forward(std::span<const Statement*> stretch, int num_threads) {
  std::set<const Value*> late;
  for (const Statement* statement : stretch) {
    late.insert(statement->results.begin(), statement->results.end());
  }
  std::set<const Statement*> early;
  std::int64_t num_early_bytes = 0;
  for (const Statement* load : stretch) {
    std::set<const Statement*> cone;
    if (load->op->effect != Effect::kReads || !collect(*load, num_threads, late, cone)) continue;
    const Type& type = load->result()->type;
    num_early_bytes += type.num_elements() * num_bytes(type.dtype) / num_threads;
    if (num_early_bytes > kMaxEarlyBytes) break;
    early.insert(cone.begin(), cone.end());
  }
  std::ranges::stable_partition(
      stretch, [&](const Statement* statement) { return early.contains(statement); });
}

}  // namespace

std::vector<const Statement*> schedule(const Region& region, int num_threads) {
  std::vector<const Statement*> order;
  for (const auto& statement : region.statements) order.push_back(statement.get());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && !is_fence(*order[end])) ++end;
    bring_loads_forward(std::span(order).subspan(begin, end - begin), num_threads);
    begin = end + 1;
  }
  return order;
}

}  // namespace tilewire

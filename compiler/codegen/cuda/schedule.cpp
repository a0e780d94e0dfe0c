#include "compiler/codegen/cuda/schedule.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"

namespace tilewire {
namespace {

/// Registers are dear: no more than this many bytes of tiles per thread come early from peers,
/// whose memory is far.
constexpr std::int64_t kMaxEarlyBytesOfPeers = 320;
/// From this rank's own memory: all of them if they are no more than the first number, else the
/// first ones up to the second. The others' latency hides behind what more CTAs do.
constexpr std::int64_t kMaxEarlyBytes = 64;
constexpr std::int64_t kMaxFirstBytes = 32;

bool is_wait(const Statement& statement) {
  return statement.kind == StatementKind::kOp && statement.op->effect == Effect::kSynchronises;
}

bool is_constant_load(const Statement& statement) {
  return statement.is("tile_load") && statement.flag("constant");
}

/// Where the producer, or a consumer, learns what the other one has waited for; or all threads, of
/// each other.
bool hears_of_waits(const Statement& statement) {
  return statement.is("await_slot") || is_staged(statement) || statement.is("skip_product") ||
         statement.is("await_hand_over");
}

bool is_fence(const Statement& statement) {
  if (hears_of_waits(statement)) return true;
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
    return definition.kind == StatementKind::kOp && !value->type.is_tile() &&
           shared_bytes_of(definition, num_threads) == 0 &&
           definition.op->effect == Effect::kPure && collect(definition, num_threads, late, cone);
  });
}

bool is_from_peer(const Statement& load) {
  const Statement* address = load.operands.empty() ? nullptr : load.operands[0]->definition;
  return address != nullptr && address->is("address") &&
         (address->flag("peer") || address->flag("multicast"));
}

/// A load that can move to the front of its stretch.
struct EarlyLoad {
  std::set<const Statement*> cone;  ///< it, and what it needs
  bool is_from_peer = false;
  std::int64_t num_bytes = 0;  ///< per thread
};

/// Moves loads to the front of a stretch that holds no fence.
void bring_loads_forward(std::span<const Statement*> stretch, int num_threads) {
  std::set<const Value*> late;
  for (const Statement* statement : stretch) {
    late.insert(statement->results.begin(), statement->results.end());
  }
  std::vector<EarlyLoad> loads;
  std::int64_t num_own_bytes = 0;
  bool is_asserted = false;  // that the peer is there, perhaps
  for (const Statement* load : stretch) {
    EarlyLoad early;
    is_asserted |= load->is("assert");
    if (load->op->effect != Effect::kReads || (is_asserted && is_from_peer(*load)) ||
        !collect(*load, num_threads, late, early.cone)) {
      continue;
    }
    const Type& type = load->result()->type;
    early.is_from_peer = is_from_peer(*load);
    early.num_bytes = type.num_elements() * num_bytes(type.dtype) / num_threads;
    if (!early.is_from_peer) num_own_bytes += early.num_bytes;
    loads.push_back(std::move(early));
  }
  std::set<const Statement*> early;
  std::int64_t room_for_peers = kMaxEarlyBytesOfPeers;
  std::int64_t room = num_own_bytes <= kMaxEarlyBytes ? kMaxEarlyBytes : kMaxFirstBytes;
  for (const EarlyLoad& load : loads) {
    std::int64_t& left = load.is_from_peer ? room_for_peers : room;
    left -= load.num_bytes;
    if (left >= 0) early.insert(load.cone.begin(), load.cone.end());
  }
  std::ranges::stable_partition(
      stretch, [&](const Statement* statement) { return early.contains(statement); });
}

/// Moves loads that nobody's writes can change in front of the waits of their region, so that they
/// are under way while a peer is waited for.
void bring_constants_forward(std::vector<const Statement*>& order, int num_threads) {
  const auto first_wait =
      std::ranges::find_if(order, [](const Statement* statement) { return is_wait(*statement); });
  const auto stretch = std::span(order).subspan(first_wait - order.begin());
  std::set<const Value*> late;
  for (const Statement* statement : stretch) {
    late.insert(statement->results.begin(), statement->results.end());
  }
  std::set<const Statement*> early;
  std::int64_t num_early_bytes = 0;
  for (const Statement* load : stretch) {
    std::set<const Statement*> cone;
    if (!is_constant_load(*load) || !collect(*load, num_threads, late, cone)) continue;
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
  bring_constants_forward(order, num_threads);
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    while (end < order.size() && !is_fence(*order[end])) ++end;
    bring_loads_forward(std::span(order).subspan(begin, end - begin), num_threads);
    begin = end + 1;
  }
  return order;
}

}  // namespace tilewire

#include "compiler/passes/find_moves.h"

#include <algorithm>
#include <utility>

#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/passes/forward_flow.h"

namespace tilewire {
namespace {

constexpr int kUnit = 16;  // bytes that the copy engine carries at once

bool is_at_peer(const Statement& store) {
  const Statement* address = address_behind(store.operands.at(0));
  return address != nullptr && address->flag("peer");
}

/// Rows of neighbours that begin at multiples of 16 bytes, of a tile that lies as products do.
bool can_be_moved(const Statement& op) {
  if (!goes_as_rows(op) || op.has("cache")) return false;
  const TileAccess access = TileAccess::of(op);
  if (access.dimensions.size() != 2) return false;
  const AccessDimension& rows = access.dimensions[0];
  const AccessDimension& columns = access.dimensions[1];
  const int element_bytes = num_bytes(access.pointer->type.dtype);
  const bool is_one_row = rows.stride == columns.size && !rows.mask && !columns.mask;
  return columns.stride == 1 && columns.size * element_bytes % kUnit == 0 && !is_one_row &&
         access.vector * element_bytes >= kUnit;
}

bool has_acquire(const Region& region) {
  bool has = false;
  for_each_statement(region, [&has](const Statement& statement) { has |= is_acquire(statement); });
  return has;
}
bool has_acquire(const Statement& statement) {
  if (statement.kind == StatementKind::kOp) return is_acquire(statement);
  return std::ranges::any_of(statement.regions,
                             [](const Region& region) { return has_acquire(region); });
}

class Finder {
 public:
  Finder(const Program& program, Statement& roles) : program_(program) {
    Region& consumers = roles.regions.at(1);
    visit(consumers, false, true);
    // What products alone load is seldom worth the room. Of the producer's waits consumers learn by
    // the ring, and the mover by nothing.
    if (moves.stores.empty() || has_acquire(roles.regions.at(0))) {
      moves.loads.clear();
      return;
    }
    leave_out_written(consumers);
    leave_out_learned(consumers);
  }

  Moves moves;

 private:
  /// `waits_later`: behind the region and before the next product. A store that the instance's own
  /// waits follow is better made at once.
  void visit(Region& region, bool is_beside_products, bool waits_later) {
    for (auto each = region.statements.rbegin(); each != region.statements.rend(); ++each) {
      Statement& statement = **each;
      const bool is_loop =
          statement.kind == StatementKind::kFor || statement.kind == StatementKind::kWhile;
      const bool multiplies = is_loop && has_staged_product(statement.body());
      for (Region& inner : statement.regions) {
        visit(inner, is_beside_products || multiplies,
              !multiplies && (waits_later || (is_loop && has_acquire(statement))));
      }
      waits_later |= has_acquire(statement);
      if (!is_beside_products || !can_be_moved(statement)) continue;
      if (statement.is("tile_load")) {
        moves.loads.push_back(&statement);
      } else if (!waits_later && is_at_peer(statement)) {
        moves.stores.push_back(&statement);
      }
    }
  }

  /// The mover comes to a load earlier than the consumers do: they must not write there.
  void leave_out_written(const Region& consumers) {
    for_each_statement(consumers, [&](const Statement& op) {
      if (op.kind != StatementKind::kOp || effect_of(op) != Effect::kWrites) return;
      if (std::ranges::find(moves.stores, &op) != moves.stores.end()) return;
      const Value* written = op.is("tile_store") || op.is("tile_atomic")
                                 ? parameter_behind(op.operands.at(0))
                                 : nullptr;
      std::erase_if(moves.loads, [&](const Statement* load) {
        return may_share_memory(program_, parameter_behind(load->operands.at(0)), written);
      });
    });
  }

  /// It waits for flags itself; what the consumers learn or assert in other ways, it doesn't know.
  void leave_out_learned(const Region& consumers) {
    flow_forward(consumers, {}, [&](const Statement& op, Values learned) {
      if (op.is("assert") || (is_acquire(op) && !op.is("flag_wait"))) learned.insert(nullptr);
      if (!learned.empty()) std::erase(moves.loads, &op);
      return learned;
    });
  }

  const Program& program_;
};

}  // namespace

Moves find_moves(const Program& program, Statement& roles) { return Finder(program, roles).moves; }

}  // namespace tilewire

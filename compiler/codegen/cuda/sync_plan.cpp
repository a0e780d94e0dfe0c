#include "compiler/codegen/cuda/sync_plan.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <vector>

#include "compiler/codegen/cuda/schedule.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/network.h"
#include "compiler/ops/op.h"
#include "compiler/passes/bounds.h"

namespace tilewire {
namespace {

/// Uses of at most this many bytes alternate between two places of their own, so that one needs no
/// meeting before it while the one before is still being read.
constexpr int kSmallBytes = 1024;

/// Whether what other threads stored before must be done before.
bool releases(const Statement& statement) {
  if (!statement.has("order")) return true;
  return statement.text("order") == "acq_rel" || statement.text("order") == "release";
}

bool is_network(const Statement& statement) { return statement.op->name.starts_with("network_"); }

/// An access, as far as it says which thread touches which element. Equal: the same thread.
struct Mapping {
  const Value* base = nullptr;       ///< the parameter; null: unknown
  const Statement* alone = nullptr;  ///< set where no other access maps alike
  const Value* offset = nullptr;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::vector<const Value*> dynamic_strides;
  Layout::Kind kind = Layout::Kind::kBlocked;
  int vector = 0;
  int lanes = 0;
  bool is_by_rows = false;  ///< by other threads of the warp that holds the element
  auto operator<=>(const Mapping&) const = default;

  /// Whether the same thread touches the same element, if both are of the same memory.
  bool is_like(Mapping other) const {
    other.base = base;
    return alone == nullptr && other == *this;
  }
  /// Whether a warp's threads have met between such a read and this access, if both are of the same
  /// memory, and touch the same elements.
  bool is_behind(Mapping read) const {
    read.base = base;
    read.is_by_rows = is_by_rows;
    return is_by_rows && alone == nullptr && read == *this;
  }
};

/// An access of a parameter (null: of any) by no thread in particular.
Mapping anywhere(const Statement& statement, const Value* parameter) {
  Mapping mapping;
  mapping.base = parameter;
  mapping.alone = &statement;
  return mapping;
}

Mapping mapping_of(const Statement& statement) {
  Mapping mapping;
  const TileAccess access = TileAccess::of(statement);
  const Statement* address = access.pointer->definition;
  if (address != nullptr && address->is("address")) mapping.base = address->operands.front();
  const Value* tile = access.tile != nullptr ? access.tile : statement.result();
  // A scalar is read by every thread and written by one, as is what several threads hold; a gather
  // reads and writes anywhere.
  if (access.offsets != nullptr || access.dimensions.empty() || address == nullptr ||
      !address->is("address") || !tile->type.is_tile() || tile->type.layout.is_replicated()) {
    mapping.alone = &statement;
    return mapping;
  }
  mapping.offset = address->operands.back();
  for (const AccessDimension& dimension : access.dimensions) {
    mapping.shape.push_back(dimension.size);
    mapping.strides.push_back(dimension.stride);
    mapping.dynamic_strides.push_back(dimension.dynamic_stride);
  }
  mapping.kind = tile->type.layout.kind;
  mapping.vector = tile->type.layout.vector;
  mapping.lanes = tile->type.layout.lanes;
  mapping.is_by_rows = goes_as_rows(statement);
  return mapping;
}

/// What threads may still be doing since they last met.
struct State {
  std::set<Mapping> reads;
  std::set<Mapping> writes;
  std::set<int> busy;         ///< places in shared memory still being read
  bool is_acquired = false;   ///< some threads have waited for others, and the rest not yet
  bool waited = false;        ///< not only at barriers, where each thread tells and waits itself
  bool is_spread = false;     ///< several threads have waited
  bool is_permitted = false;  ///< some threads know that it is safe to write, and the rest not yet
  bool is_numbered = false;   ///< some threads may still be reading the launch's number
  bool operator==(const State&) const = default;

  void join(const State& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    busy.insert(other.busy.begin(), other.busy.end());
    is_acquired |= other.is_acquired;
    waited |= other.waited;
    is_spread |= other.is_spread;
    is_permitted |= other.is_permitted;
    is_numbered |= other.is_numbered;
  }
};

class Planner {
 public:
  explicit Planner(const Program& program) : program_(program), bounds_(program) {
    for (const Parameter& parameter : program.parameters) {
      parameters_[parameter.value] = &parameter;
    }
    place_shared_memory();
    flow(program.body, {});
  }

  SyncPlan plan;

 private:
  void place_shared_memory() {
    int small_bytes = 0;
    int large_bytes = 0;
    int num_small = 0;
    const auto visit_uses = [&](const auto& visit) {
      for_each_statement(program_.body, [&](const Statement& statement) {
        const int num_bytes = shared_bytes_of(statement, program_.num_threads);
        if (num_bytes > 0) visit(statement, (num_bytes + 15) / 16 * 16);
      });
    };
    visit_uses([&](const Statement& statement, int num_bytes) {
      if (num_bytes > kSmallBytes) {
        place_[&statement] = 2;
        large_bytes = std::max(large_bytes, num_bytes);
      } else {
        place_[&statement] = num_small++ % 2;
        small_bytes = std::max(small_bytes, num_bytes);
      }
    });
    const int large_offset = small_bytes * std::min(num_small, 2);
    for (const auto& [statement, place] : place_) {
      plan.shared_offsets[statement] = place == 2 ? large_offset : place * small_bytes;
    }
    plan.num_shared_bytes = large_offset + large_bytes;
  }

  State flow(const Region& region, State state) {
    for (const Statement* statement : schedule(region, program_.num_threads)) {
      step(*statement, state);
    }
    return state;
  }

  void step(const Statement& statement, State& state) {
    switch (statement.kind) {
      case StatementKind::kOp:
        return step_op(statement, state);
      case StatementKind::kFor:
      case StatementKind::kWhile:
        return step_loop(statement, state);
      case StatementKind::kIf: {
        const Statement* asked = statement.operands.at(0)->definition;
        if (asked != nullptr && asked->is("is_producer")) {  // one thread, which meets nobody
          state = flow(statement.regions.at(1), state);
          return;
        }
        State joined = flow(statement.regions.at(0), state);
        joined.join(flow(statement.regions.at(1), state));
        state = joined;
        return;
      }
      case StatementKind::kYield:
      case StatementKind::kReturn:
        return;
    }
  }

  /// The first region starts from what stood before the loop or what the iteration before left
  /// behind.
  void step_loop(const Statement& loop, State& state) {
    // Once, and not in front of the writes of each iteration.
    if (state.is_permitted || plan.syncs_before.contains(&loop)) meet_before(loop, state);
    State entry = state;
    while (true) {
      State end = entry;
      for (const Region& region : loop.regions) {
        end = flow(region, end);
        state.join(end);  // a while ends after its condition, a for after its body or at once
      }
      State next = entry;
      next.join(of_another_iteration(loop, end));
      if (next == entry) return;
      entry = next;
    }
  }

  /// The same offset names another place in another iteration: one that another thread may have
  /// touched, unless iterations are proven to stay apart.
  State of_another_iteration(const Statement& loop, State state) {
    const auto set_apart = [&](const std::set<Mapping>& mappings) {
      std::set<Mapping> result;
      for (Mapping mapping : mappings) {
        if (mapping.alone == nullptr && !stays_apart(loop, mapping)) {
          mapping.alone = mapping.offset->definition;
          if (mapping.alone == nullptr) mapping.vector = -1;
        }
        result.insert(mapping);
      }
      return result;
    };
    state.reads = set_apart(state.reads);
    state.writes = set_apart(state.writes);
    return state;
  }

  /// Whether what an access touches in one iteration of the loop, no other thread touches in
  /// another: its offset goes with the loop's index in steps of at least what the tile spans.
  bool stays_apart(const Statement& loop, const Mapping& mapping) {
    if (loop.kind != StatementKind::kFor) return false;
    const std::set<const Value*> inside = values_inside(loop);
    // Or always the same, by the same thread.
    if (!inside.contains(mapping.offset) || is_own_tile(mapping, inside)) return true;
    const Value* index = loop.body().arguments.at(0);
    const Linear offset = bounds_.linear(mapping.offset);
    const auto found = offset.terms.find(index);
    if (found == offset.terms.end()) return false;
    std::int64_t span = 1;
    for (std::size_t i = 0; i < mapping.shape.size(); ++i) {
      if (mapping.strides[i] < 0) return false;  // known at run time only
      span += (mapping.shape[i] - 1) * mapping.strides[i];
    }
    return std::abs(found->second) >= span &&
           std::ranges::all_of(offset.terms, [&](const auto& term) {
             return term.first == index || !inside.contains(term.first);
           });
  }

  /// Whether it is at the place of a tile of `tw.tiles`, of which each iteration has another one,
  /// and not larger: its offset counts rows and columns of tiles, and is else the same.
  bool is_own_tile(const Mapping& mapping, const std::set<const Value*>& inside) {
    if (mapping.shape.size() < 2) return false;
    const std::size_t columns = mapping.shape.size() - 1;
    const std::size_t rows = columns - 1;
    std::set<std::int64_t> by_rows;
    std::set<std::int64_t> by_columns;
    for (const auto& [value, factor] : bounds_.linear(mapping.offset).terms) {
      if (mapping.strides[columns] == 1 && factor >= mapping.shape[columns]) {
        note_tiles(value, inside, by_columns);
      }
      if (mapping.strides[rows] > 0) {
        if (factor >= mapping.shape[rows] * mapping.strides[rows]) {
          note_tiles(value, inside, by_rows);
        }
        continue;
      }
      const Statement* product = value->definition;
      if (factor != 1 || product == nullptr || !product->is("mul")) continue;
      for (const std::size_t i : {0, 1}) {
        if (product->operands[1 - i] != mapping.dynamic_strides[rows]) continue;
        for (const auto& [row, step] : bounds_.linear(product->operands[i]).terms) {
          if (step >= mapping.shape[rows]) note_tiles(row, inside, by_rows);
        }
      }
    }
    return std::ranges::any_of(by_rows, [&](std::int64_t tiles) {
      return by_columns.contains(tiles) && is_of_tile(mapping.offset, tiles, inside);
    });
  }

  /// The number of the tiles whose row, column or part a value counts.
  static void note_tiles(const Value* value, const std::set<const Value*>& inside,
                         std::set<std::int64_t>& numbers) {
    const Statement* made = value->definition;
    if (made == nullptr || !made->is("non_negative") || !made->has("tiles")) return;
    if (inside.contains(value)) numbers.insert(made->integer("tiles"));
  }

  /// Whether a value changes from iteration to iteration by the tile alone.
  static bool is_of_tile(const Value* value, std::int64_t tiles,
                         const std::set<const Value*>& inside) {
    if (!inside.contains(value)) return true;
    const Statement* made = value->definition;
    if (made == nullptr || made->kind != StatementKind::kOp) return false;
    if (made->is("non_negative") && made->has("tiles")) return made->integer("tiles") == tiles;
    return made->op->effect == Effect::kPure &&
           std::ranges::all_of(made->operands, [&](const Value* operand) {
             return is_of_tile(operand, tiles, inside);
           });
  }

  static std::set<const Value*> values_inside(const Statement& loop) {
    std::set<const Value*> inside;
    const auto add = [&inside](const Region& region) {
      inside.insert(region.arguments.begin(), region.arguments.end());
    };
    for (const Region& region : loop.regions) {
      add(region);
      for_each_statement(region, [&](const Statement& statement) {
        inside.insert(statement.results.begin(), statement.results.end());
        for (const Region& inner : statement.regions) add(inner);
      });
    }
    return inside;
  }

  void meet_before(const Statement& statement, State& state) {
    plan.syncs_before.insert(&statement);
    state = {};
  }

  void step_op(const Statement& statement, State& state) {
    if (plan.syncs_before.contains(&statement)) state = {};
    if (statement.is("view_copy")) return step_copy(statement, state);
    if (statement.is("fence_aliases")) return;  // by each thread, of its own accesses
    if (statement.is("drain_copies")) {         // by one thread, for whoever comes next
      state.writes.insert(anywhere(statement, nullptr));
      return;
    }
    if (const auto place = place_.find(&statement); place != place_.end()) {
      if (state.busy.contains(place->second)) meet_before(statement, state);
      state = {};  // the threads meet inside
      state.busy.insert(place->second);
    }
    if (statement.is("hand_over")) state = {};  // the threads meet inside
    if (is_network(statement) && effect_of(statement) == Effect::kWrites) {
      return step_network(statement, state);
    }
    switch (effect_of(statement)) {
      case Effect::kPure:
      case Effect::kReports:
        return;
      case Effect::kHidden:
        if (statement.is("leave") && (state.is_permitted || state.is_numbered)) {
          meet_before(statement, state);
        }
        state.is_numbered |= statement.is("generation");
        return;
      case Effect::kReads: {
        const Mapping mapping = mapping_of(statement);
        if (state.is_acquired || conflicts(state.writes, mapping)) meet_before(statement, state);
        state.reads.insert(mapping);
        return;
      }
      case Effect::kWrites: {
        const Mapping mapping = mapping_of(statement);
        const bool has_pending = !state.reads.empty() || !state.writes.empty();
        const auto atomic =
            statement.is("tile_atomic") ? std::optional(Atomic::of(statement)) : std::nullopt;
        // What a thread releases is what all of the CTA's have done. A warp that stores by rows has
        // met behind its reads.
        if (state.is_acquired || state.is_permitted || conflicts(state.writes, mapping) ||
            overtakes(state.reads, mapping) || (atomic && atomic->releases() && has_pending)) {
          meet_before(statement, state);
        }
        state.writes.insert(mapping);
        state.is_acquired = atomic && atomic->acquires() && statement.flag("returns");
        return;
      }
      case Effect::kSynchronises:
        return step_meeting(statement, state);
    }
  }

  /// Reads one view and writes the other, by any thread.
  void step_copy(const Statement& statement, State& state) {
    const auto mapping = [&](const Value* pointer) {
      const Statement* address = pointer->definition;
      if (address->is("pointer_cast")) address = address->operands.at(0)->definition;
      return anywhere(statement, address->operands.at(0));
    };
    const Mapping to = mapping(statement.operands.at(0));
    const Mapping from = mapping(statement.operands.at(1));
    if (state.is_acquired || conflicts(state.writes, to) || conflicts(state.reads, to) ||
        conflicts(state.writes, from)) {
      meet_before(statement, state);
    }
    state.reads.insert(from);
    state.writes.insert(to);
  }

  /// Puts of a window, of a tile, whose threads meet inside, or of an element; reads from a peer.
  /// Its memory is none of this rank's.
  void step_network(const Statement& statement, State& state) {
    const bool is_tile = statement.is("network_store") && !statement.integers("shape").empty();
    if (is_tile) state = {};
    bool meets = state.is_acquired || state.is_permitted;
    if (statement.is("network_put")) {
      const Mapping from = anywhere(statement, NetworkCopy::of(statement).from);
      meets |= conflicts(state.writes, from);
      if (meets) meet_before(statement, state);
      state.reads.insert(from);
    } else if (statement.is("network_get")) {
      const Mapping to = anywhere(statement, NetworkCopy::of(statement).to);
      meets |= conflicts(state.writes, to) || conflicts(state.reads, to);
      if (meets) meet_before(statement, state);
    } else if (meets) {
      meet_before(statement, state);
    }
    // What is told next covers it.
    state.writes.insert(anywhere(statement, statement.operands.front()));
  }

  void step_meeting(const Statement& statement, State& state) {
    const Meeting& meeting = statement.op->meeting;
    if (!meeting.learns) {
      state.is_permitted = true;
      return;
    }
    const bool is_barrier = meeting.tells && meeting.waits;
    const bool is_spread = statement.has("shape") && !statement.integers("shape").empty();
    // Thread 0 signals and waits for single objects; slices and barriers are several threads'. What
    // one of them waited for comes before what another one tells or waits for.
    // The first warp does what goes over the network: it may be others that have waited.
    const bool is_torn = is_network(statement) ? meeting.tells && state.is_acquired
                         : is_barrier          ? state.waited
                                               : state.waited && (state.is_spread || is_spread);
    // What is told lets others overwrite what was read, and see what was written.
    const bool is_early =
        meeting.tells && (!state.reads.empty() || (!state.writes.empty() && releases(statement)));
    // Of two ranks, thread 0 waits for the other one's permission.
    const bool is_early_write = meeting.tells && state.is_permitted && program_.lsa_size > 2;
    if (is_torn || is_early || is_early_write) meet_before(statement, state);
    state.is_acquired |= meeting.waits;
    state.waited |= meeting.waits && (!is_barrier || is_network(statement));
    state.is_spread |= is_spread;
  }

  bool conflicts(const std::set<Mapping>& earlier, const Mapping& mapping) const {
    return std::ranges::any_of(earlier, [&](const Mapping& other) {
      return may_be_one(mapping.base, other.base) && !mapping.is_like(other);
    });
  }

  /// Whether a write may come before a read of the same memory by another thread.
  bool overtakes(const std::set<Mapping>& reads, const Mapping& write) const {
    return std::ranges::any_of(reads, [&](const Mapping& read) {
      return may_be_one(write.base, read.base) && !write.is_like(read) && !write.is_behind(read);
    });
  }

  /// Whether two parameters may be the same memory: no tensor has two shapes.
  bool may_be_one(const Value* a, const Value* b) const {
    const auto of_a = parameters_.find(a);
    const auto of_b = parameters_.find(b);
    if (a == b || of_a == parameters_.end() || of_b == parameters_.end()) return true;
    return std::ranges::equal(of_a->second->shape, of_b->second->shape,
                              [](const Dimension& x, const Dimension& y) {
                                return x.size == y.size || x.size == kDynamic || y.size == kDynamic;
                              });
  }

  const Program& program_;
  Bounds bounds_;
  std::map<const Value*, const Parameter*> parameters_;
  std::map<const Statement*, int> place_;  ///< 0 and 1: small, in turn; 2: large
};

}  // namespace

int shared_bytes_of(const Statement& statement, int num_threads) {
  if (statement.kind != StatementKind::kOp || statement.op->cuda_shared_bytes == nullptr) return 0;
  return statement.op->cuda_shared_bytes(statement, num_threads);
}

SyncPlan plan_synchronisation(const Program& lowered) { return Planner(lowered).plan; }

}  // namespace tilewire

#include "compiler/codegen/cuda/sync_plan.h"

#include <optional>

#include "compiler/codegen/cuda/access_mapping.h"
#include "compiler/codegen/cuda/aliasing.h"
#include "compiler/codegen/cuda/schedule.h"
#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/mover.h"
#include "compiler/ops/network.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/ops/task.h"

namespace tilewire {
namespace {

/// Whether what other threads stored before must be done before.
bool releases(const Statement& statement) {
  if (!statement.has("order")) return true;
  return statement.text("order") == "acq_rel" || statement.text("order") == "release";
}

bool is_network(const Statement& statement) { return statement.op->name.starts_with("network_"); }

/// What threads may still be doing since they last met.
struct State {
  std::set<AccessMapping> reads;
  std::set<AccessMapping> writes;
  std::set<int> busy;        ///< places in shared memory still being read
  bool is_acquired = false;  ///< some threads have waited for others, and the rest not yet
  bool waited = false;       ///< not only at barriers, where each thread tells and waits itself
  bool is_spread = false;    ///< several threads have waited
  bool met_by_many =
      false;               ///< several threads have waited at a barrier, each for a peer of its own
  bool met_ranks = false;  ///< for one instance of each rank
  bool met_instances = false;  ///< for this rank's instances
  bool is_permitted = false;   ///< some threads know that it is safe to write, and the rest not yet
  bool is_numbered = false;    ///< some threads may still be reading the launch's number
  bool operator==(const State&) const = default;

  void join(const State& other) {
    reads.insert(other.reads.begin(), other.reads.end());
    writes.insert(other.writes.begin(), other.writes.end());
    busy.insert(other.busy.begin(), other.busy.end());
    is_acquired |= other.is_acquired;
    waited |= other.waited;
    is_spread |= other.is_spread;
    met_by_many |= other.met_by_many;
    met_ranks |= other.met_ranks;
    met_instances |= other.met_instances;
    is_permitted |= other.is_permitted;
    is_numbered |= other.is_numbered;
  }
};

class Planner {
 public:
  explicit Planner(const Program& program)
      : program_(program), aliasing_(program), shared_(place_shared_memory(program)) {
    plan.shared_offsets = shared_.offsets;
    plan.num_shared_bytes = shared_.num_bytes;
    flow(program.body, {});
  }

  SyncPlan plan;

 private:
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
        if (are_roles(statement)) {  // the producer is one thread, which meets nobody
          for (const auto& each : statement.regions.at(0).statements) {
            if (is_task(*each)) flow(each->regions.at(0), {});
          }
          state = flow(statement.regions.at(1), state);
          return;
        }
        if (is_task(statement)) {  // a warp, which meets by itself
          flow(statement.regions.at(0), {});
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
      end.reads = aliasing_.of_another_iteration(loop, end.reads);
      end.writes = aliasing_.of_another_iteration(loop, end.writes);
      next.join(end);
      if (next == entry) return;
      entry = next;
    }
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
    if (const auto place = shared_.places.find(&statement); place != shared_.places.end()) {
      if (state.busy.contains(place->second)) meet_before(statement, state);
      state = {};  // the threads meet inside
      state.busy.insert(place->second);
    }
    if (statement.is("begin_slots")) return step_begin_slots(statement, state);
    if (statement.is("copy_operand")) return step_copy_operand(statement, state);
    for (const char* name : {"hand_over", "join_task", "await_slot"}) {
      if (statement.is(name)) state = {};  // they meet inside
    }
    // Each warp tells the mover what it has done, and hears what the mover did.
    if (meets_mover(statement)) return;
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
      case Effect::kReads:
        return step_read(statement, state);
      case Effect::kWrites:
        return step_write(statement, state);
      case Effect::kSynchronises:
        if (statement.is("arrive")) return;  // the threads meet before it and behind
        return step_meeting(statement, state);
    }
  }

  void step_read(const Statement& statement, State& state) {
    const AccessMapping mapping = mapping_of(statement);
    if (state.is_acquired || aliasing_.conflicts(state.writes, mapping)) {
      meet_before(statement, state);
    }
    state.reads.insert(mapping);
  }

  /// Once, and not in front of the copies of each slot.
  void step_begin_slots(const Statement& statement, State& state) {
    bool meets = false;
    for_each_statement(program_.body, [&](const Statement& copy) {
      meets |= copy.is("copy_operand") && is_copied_too_early(copy, state);
    });
    if (meets) meet_before(statement, state);
  }

  /// Which thread reads what is none of its tile's.
  void step_copy_operand(const Statement& statement, State& state) {
    if (statement.flag("constant")) return;
    if (is_copied_too_early(statement, state)) meet_before(statement, state);
    state.reads.insert(anywhere(statement, parameter_behind(statement.operands.at(0))));
  }
  bool is_copied_too_early(const Statement& copy, const State& state) const {
    if (copy.flag("constant")) return false;
    const AccessMapping from = anywhere(copy, parameter_behind(copy.operands.at(0)));
    return state.is_acquired || aliasing_.conflicts(state.writes, from);
  }

  void step_write(const Statement& statement, State& state) {
    const AccessMapping mapping = mapping_of(statement);
    const bool has_pending = !state.reads.empty() || !state.writes.empty();
    const auto atomic =
        statement.is("tile_atomic") ? std::optional(Atomic::of(statement)) : std::nullopt;
    // What a thread releases is what all of the CTA's have done. A warp that stores by rows has
    // met behind its reads.
    if (state.is_acquired || state.is_permitted || aliasing_.conflicts(state.writes, mapping) ||
        aliasing_.overtakes(state.reads, mapping) ||
        (atomic && atomic->releases() && has_pending)) {
      meet_before(statement, state);
    }
    state.writes.insert(mapping);
    state.is_acquired = atomic && atomic->acquires() && statement.flag("returns");
  }

  /// Reads one view and writes the other, by any thread.
  void step_copy(const Statement& statement, State& state) {
    const AccessMapping to = anywhere(statement, parameter_behind(statement.operands.at(0)));
    const AccessMapping from = anywhere(statement, parameter_behind(statement.operands.at(1)));
    if (state.is_acquired || aliasing_.conflicts(state.writes, to) ||
        aliasing_.conflicts(state.reads, to) || aliasing_.conflicts(state.writes, from)) {
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
      const AccessMapping from = anywhere(statement, NetworkCopy::of(statement).from);
      meets |= aliasing_.conflicts(state.writes, from);
      if (meets) meet_before(statement, state);
      state.reads.insert(from);
    } else if (statement.is("network_get")) {
      const AccessMapping to = anywhere(statement, NetworkCopy::of(statement).to);
      meets |= aliasing_.conflicts(state.writes, to) || aliasing_.conflicts(state.reads, to);
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
    // What is told lets others overwrite what was read, and see what was written.
    const bool is_early =
        meeting.tells && (!state.reads.empty() || (!state.writes.empty() && releases(statement)));
    // Of two ranks, thread 0 waits for the other one's permission.
    const bool is_early_write = meeting.tells && state.is_permitted && program_.lsa_size > 2;
    if (is_torn(statement, state) || is_early || is_early_write) meet_before(statement, state);
    state.is_acquired |= meeting.waits;
    state.waited |= meeting.waits && (!is_barrier || is_network(statement));
    state.is_spread |= is_spread(statement);
    if (is_barrier) note_barrier(statement, state);
  }

  static bool is_spread(const Statement& statement) {
    return statement.has("shape") && !statement.integers("shape").empty();
  }

  /// Whether a thread would tell, or wait, before another one has seen what it waits for. Thread 0
  /// signals and waits for single objects; slices and barriers are several threads'.
  bool is_torn(const Statement& statement, const State& state) const {
    const Meeting& meeting = statement.op->meeting;
    // The first warp does what goes over the network: it may be others that have waited.
    if (is_network(statement)) return meeting.tells && state.is_acquired;
    if (meeting.tells && meeting.waits) return state.waited || is_apart(statement, state);
    if (meeting.tells && state.met_by_many) return true;
    return state.waited && (state.is_spread || is_spread(statement));
  }

  /// Whether those who meet at a barrier must hear from all threads whom the last one was waited
  /// for. Of the ranks, each tells of itself at both barriers; but the other instances of this rank
  /// don't know when its peers have come, nor these when they have.
  bool is_apart(const Statement& barrier, const State& state) const {
    if (program_.lsa_size <= 2) return false;  // thread 0 does both
    return barrier.is("lsa_barrier") ? state.met_instances
                                     : barrier.text("team") == "local" && state.met_ranks;
  }

  void note_barrier(const Statement& barrier, State& state) const {
    const bool is_local = barrier.is("grid_barrier") && barrier.text("team") == "local";
    state.met_by_many |= num_waiting(barrier) > 1;
    state.met_instances |= is_local;
    state.met_ranks |= barrier.is("lsa_barrier");
  }

  /// How many threads wait at a barrier, each for ranks of its own.
  int num_waiting(const Statement& barrier) const {
    if (barrier.is("lsa_barrier")) return program_.lsa_size - 1;
    if (barrier.is("grid_barrier")) return barrier.text("team") == "local" ? 1 : program_.lsa_size;
    if (barrier.is("network_grid_barrier")) return 1;  // ends with one of this rank's instances
    const int num_teams = program_.world_size / program_.lsa_size;
    return barrier.text("team") == "rail" ? num_teams - 1 : program_.world_size - program_.lsa_size;
  }

  const Program& program_;
  Aliasing aliasing_;
  SharedPlaces shared_;
};

}  // namespace

SyncPlan plan_synchronisation(const Program& lowered) { return Planner(lowered).plan; }

}  // namespace tilewire

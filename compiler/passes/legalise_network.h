#pragma once

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/jit/target.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {

/// Whether loads and stores don't reach all ranks of the world.
inline bool has_far_ranks(const Target& target) { return target.lsa_size < target.world_size; }

/// Whether a rank of the world is in this one's LSA team.
Value* is_in_reach(Value* rank, const Target& target, Inserter& insert);

/// The rank of the world that `rank` of a team is: `lsa`, `rail`, or the world itself.
Value* world_rank_of(Value* rank, std::string_view team, const Target& target, Inserter& insert);

/// Parts of windows and semaphores at ranks that loads and stores may not reach, and what becomes
/// of the ops that reach any rank:
///
///     if <it is in reach> { the op at its LSA rank } else { the op over the network }
///
/// with the views between `at` and the op in both branches.
class NetworkPlaces {
 public:
  struct Place {
    Value* window = nullptr;              ///< or semaphores
    Value* rank = nullptr;                ///< as the program counts it
    bool is_of_rail = false;              ///< in the rail, else in the world
    bool is_far = false;                  ///< it is known to be out of reach
    std::vector<const Statement*> views;  ///< what follows the `at`
  };

  NetworkPlaces(const Program& program, const Target& target);

  /// Notes what an `at` makes. UserError where something else is done with it than to send there,
  /// or the target has no network.
  void add(const Statement& at, bool is_far);
  /// Notes a statement that makes a view of a place. Of one that moves data to a place or from
  /// there, or signals: which; else null. Before the statement's operands are replaced.
  const Place* find(const Statement& statement);
  /// Appends what such a statement, whose operands are replaced, becomes.
  void legalise(const Statement& op, const Place& place, Program& program, Statements& into) const;

 private:
  struct Use {
    const Statement* user;
    std::size_t operand;
  };
  void add_uses(const Region& region);
  const Statement* unreachable_use(const Value* view) const;
  const Statement* any_use(const Value* view) const;
  void check(const Statement& op, const Place& place, const Program& program) const;
  void check_own(const Statement& op, const Value* view, const Program& program) const;
  Value* view_at(const Place& place, bool is_near, Inserter& insert) const;
  void append(const Statement& op, const Place& place, bool is_near, Inserter insert) const;

  const Target& target_;
  std::unordered_map<const Value*, std::vector<Use>> uses_;
  std::unordered_map<const Value*, Place> places_;
};

}  // namespace tilewire

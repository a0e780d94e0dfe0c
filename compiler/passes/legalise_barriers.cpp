#include "compiler/passes/legalise_barriers.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/passes/legalise_network.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// A `barrier` as the user asked for it, against the target.
struct BarrierRequest {
  std::string team;
  std::string scope;
  const Target& target;

  bool is_instance() const { return scope == "instance"; }

  /// Ranks that meet.
  int num_ranks() const {
    if (team == "local") return 1;
    if (team == "lsa") return target.lsa_size;
    return team == "rail" ? target.world_size / target.lsa_size : target.world_size;
  }

  /// Whether loads and stores reach all of them.
  bool is_within_lsa() const {
    return num_ranks() == 1 || team == "lsa" || (team == "world" && !has_far_ranks(target));
  }

  /// Whether the network reaches the others.
  bool has_network() const { return target.gin && (team == "world" || team == "rail"); }
};

/// A way to carry a barrier. The first one that can is taken.
struct BarrierTransport {
  bool (*can_carry)(const BarrierRequest&);
  /// Appends what the barrier becomes, and gives how many places that wait it has.
  std::int64_t (*emit)(const Statement& barrier, std::int64_t site, Inserter& insert);
};

std::int64_t emit_nothing(const Statement&, std::int64_t, Inserter&) { return 0; }

void emit_lsa_barrier(const Statement& barrier, std::int64_t site, Inserter& insert,
                      bool is_of_world) {
  Attributes attributes = {{"order", barrier.text("order")}, {"site", site}};
  if (is_of_world) attributes["world"] = true;
  insert.append(
      insert.program().new_op("lsa_barrier", {}, std::move(attributes), barrier.location));
}

std::int64_t emit_lsa_barrier(const Statement& barrier, std::int64_t site, Inserter& insert) {
  emit_lsa_barrier(barrier, site, insert, false);
  return 1;
}

void emit_grid_barrier(std::string_view team, const Statement& barrier, std::int64_t site,
                       Inserter& insert) {
  insert.append(insert.program().new_op(
      "grid_barrier", {},
      {{"team", std::string(team)}, {"order", barrier.text("order")}, {"site", site}},
      barrier.location));
}

std::int64_t emit_local_grid_barrier(const Statement& barrier, std::int64_t site,
                                     Inserter& insert) {
  emit_grid_barrier("local", barrier, site, insert);
  return 1;
}

std::int64_t emit_lsa_grid_barrier(const Statement& barrier, std::int64_t site, Inserter& insert) {
  emit_grid_barrier("lsa", barrier, site, insert);
  return 1;
}

void emit_network_op(std::string_view op, const Statement& barrier, std::int64_t site,
                     Inserter& insert) {
  insert.append(insert.program().new_op(
      op, {}, {{"team", barrier.text("team")}, {"order", barrier.text("order")}, {"site", site}},
      barrier.location));
}

/// Over the network first: a rank must not leave before its team-mates have what others put into
/// their memory.
std::int64_t emit_network_barrier(const Statement& barrier, std::int64_t site, Inserter& insert) {
  emit_network_op("network_barrier", barrier, site, insert);
  if (barrier.text("team") != "world" || insert.program().lsa_size == 1) return 1;
  emit_lsa_barrier(barrier, site + 1, insert, true);
  return 2;
}

std::int64_t emit_network_grid_barrier(const Statement& barrier, std::int64_t site,
                                       Inserter& insert) {
  emit_network_op("network_grid_barrier", barrier, site, insert);
  return 1;
}

constexpr std::array kBarrierTransports = {
    // One instance that meets itself: nothing to wait for, its own accesses are in order.
    BarrierTransport{[](const BarrierRequest& request) {
                       return request.is_instance() && request.num_ranks() == 1;
                     },
                     emit_nothing},
    BarrierTransport{[](const BarrierRequest& request) {
                       return request.is_instance() && request.is_within_lsa();
                     },
                     emit_lsa_barrier},
    BarrierTransport{[](const BarrierRequest& request) { return request.num_ranks() == 1; },
                     emit_local_grid_barrier},
    BarrierTransport{[](const BarrierRequest& request) { return request.is_within_lsa(); },
                     emit_lsa_grid_barrier},
    BarrierTransport{[](const BarrierRequest& request) {
                       return request.is_instance() && request.has_network();
                     },
                     emit_network_barrier},
    BarrierTransport{[](const BarrierRequest& request) { return request.has_network(); },
                     emit_network_grid_barrier},
};

std::string refusal(const BarrierRequest& request) {
  return fmt::format(
      "barrier: team=\"{}\" has ranks that loads and stores don't reach on `{}` (teams of {} in "
      "a world of {}), and the communicator has no network that kernels can use (GIN); supported "
      "are ranks that reach each other: team=\"lsa\", or all ranks in one LSA team (`world={}` "
      "alone)",
      request.team, request.target.to_string(), request.target.lsa_size, request.target.world_size,
      request.target.world_size);
}

}  // namespace

std::int64_t legalise_barrier(const Statement& barrier, const Target& target, std::int64_t site,
                              Inserter& insert) {
  const BarrierRequest request{barrier.text("team"), barrier.text("scope"), target};
  for (const BarrierTransport& transport : kBarrierTransports) {
    if (transport.can_carry(request)) return transport.emit(barrier, site, insert);
  }
  throw UserError(refusal(request), barrier.location);
}

}  // namespace tilewire

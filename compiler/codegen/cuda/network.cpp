#include "compiler/codegen/cuda/network.h"

#include <fmt/format.h>

#include "compiler/codegen/cuda/access.h"
#include "compiler/codegen/cuda/object.h"
#include "compiler/ops/network.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::string dimensions_of(const NetworkCopy& copy, const CudaEmitter& emitter) {
  std::string text;
  for (const ViewCopy::Dimension& dimension : copy.dimensions) {
    text +=
        fmt::format(", tw::CopyDim{{{}, {}, {}}}", emitter.argument(dimension.extent),
                    emitter.argument(dimension.to_stride), emitter.argument(dimension.from_stride));
  }
  return text;
}

/// The element of this rank's own copy that lies where the peer's does that is put to.
std::string own_place(const NetworkStore& store, const CudaEmitter& emitter) {
  return fmt::format("tw::own_place<{}>({}, {})", device_type(store.access.tile->type.dtype),
                     emitter.parameter(store.to), emitter.argument(store.to_bytes));
}

void emit_value(const NetworkStore& store, CudaEmitter& emitter) {
  const std::string condition = scalar_condition(store.access, emitter);
  emitter.statement(fmt::format("{}network.put_value<{}>({}, {}, {}, {});",
                                condition.empty() ? "" : fmt::format("if ({}) ", condition),
                                device_type(store.access.tile->type.dtype),
                                emitter.parameter(store.to), emitter.argument(store.rank),
                                emitter.argument(store.to_bytes),
                                emitter.argument(store.access.tile)));
}

}  // namespace

void emit_network_put_cuda(const Statement& statement, CudaEmitter& emitter) {
  const NetworkCopy copy = NetworkCopy::of(statement);
  emitter.statement(fmt::format("network.put<{}>({}, {}, {}, {}, {}{});", copy.element_bytes,
                                emitter.parameter(copy.to), emitter.argument(copy.rank),
                                emitter.argument(copy.to_bytes), emitter.parameter(copy.from),
                                emitter.argument(copy.from_bytes), dimensions_of(copy, emitter)));
}

void emit_network_get_cuda(const Statement& statement, CudaEmitter& emitter) {
  const NetworkCopy copy = NetworkCopy::of(statement);
  emitter.statement(fmt::format("network.get<{}>({}, {}, {}, {}, {}{});", copy.element_bytes,
                                emitter.parameter(copy.to), emitter.argument(copy.to_bytes),
                                emitter.parameter(copy.from), emitter.argument(copy.rank),
                                emitter.argument(copy.from_bytes), dimensions_of(copy, emitter)));
}

void emit_network_store_cuda(const Statement& statement, CudaEmitter& emitter) {
  const NetworkStore store = NetworkStore::of(statement);
  const TileAccess& access = store.access;
  if (access.dimensions.empty()) return emit_value(store, emitter);
  const Type type = tile_type(statement, access);
  require_layout(access.where, type, statement);
  std::string tile = emitter.argument(access.tile);
  if (access.tile->type.is_scalar()) {
    tile = fmt::format("tw::full<{}>({})", emitter.type(type), tile);
  }
  const std::string staged = emitter.unique_name("staged");
  std::string place = access_at(own_place(store, emitter), access, type, statement, emitter);
  const bool by_element = access.where != nullptr || access.offsets != nullptr;
  if (by_element) {
    const std::string name = emitter.unique_name("place");
    emitter.statement(fmt::format("const auto {} = {};", name, place));
    place = name;
    emitter.statement(
        fmt::format("const uint64_t {} = network.stage_elements({}, {}, {});", staged, tile, place,
                    access.where == nullptr ? "true" : emitter.argument(access.where)));
  } else {
    emitter.statement(fmt::format("const uint64_t {} = network.stage({});", staged, tile));
  }
  emitter.meet();
  emitter.statement(fmt::format("network.{}({}, {}, {}, {});",
                                by_element ? "put_elements" : "put_staged", staged,
                                emitter.parameter(store.to), emitter.argument(store.rank), place));
}

int network_store_shared_bytes(const Statement& statement, int num_threads) {
  return statement.integers("shape").empty() ? 0 : access_shared_bytes(statement, num_threads);
}

void emit_network_signal_cuda(const Statement& statement, CudaEmitter& emitter) {
  const NetworkSignal signal = NetworkSignal::of(statement);
  emitter.statement(fmt::format(
      "{}network.signal<tw::Order::{}>({}, {}, {}, {});",
      signal.predicate == nullptr ? ""
                                  : fmt::format("if ({}) ", emitter.argument(signal.predicate)),
      order_name(statement), emitter.parameter(signal.semaphore), emitter.argument(signal.rank),
      emitter.argument(signal.element), emitter.argument(signal.n)));
}

void emit_network_flush_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("network.flush();");
}

void emit_network_barrier_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.statement(fmt::format("network_barrier.sync<tw::NetworkTeam::{}, tw::Order::{}>({});",
                                statement.text("team") == "rail" ? "kRail" : "kWorld",
                                order_name(statement), statement.integer("site")));
}

/// All instances of this rank meet; then those with the first ids, one on each of the network's
/// contexts, meet their peers, since a signal covers what was put on its own context; then all of
/// this rank again.
void emit_network_grid_barrier_cuda(const Statement& statement, CudaEmitter& emitter) {
  const std::int64_t site = statement.integer("site");
  const bool is_rail = statement.text("team") == "rail";
  const auto local =
      fmt::format("local_grid_barrier.sync<tw::Order::{}>({});", order_name(statement), site);
  emitter.statement(local);
  emitter.meet();
  emitter.open("if (slot < lane.num_contexts)");
  emit_network_barrier_cuda(statement, emitter);
  if (!is_rail && emitter.program().lsa_size > 1) {
    emitter.meet();
    emitter.statement(fmt::format("barrier.sync<tw::Order::{}>({});", order_name(statement), site));
  }
  emitter.meet();
  emitter.close();
  emitter.statement(local);
}

}  // namespace tilewire

#include "compiler/codegen/cuda/atomic.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cuda/access.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/memory.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

std::string_view function_of(AtomicKind kind) {
  switch (kind) {
    case AtomicKind::kAdd:
      return "AtomicAdd";
    case AtomicKind::kMin:
      return "AtomicMin";
    case AtomicKind::kMax:
      return "AtomicMax";
    case AtomicKind::kAnd:
      return "AtomicAnd";
    case AtomicKind::kOr:
      return "AtomicOr";
    case AtomicKind::kXor:
      return "AtomicXor";
    case AtomicKind::kExchange:
      return "AtomicExchange";
    case AtomicKind::kCas:
      return "AtomicCas";
  }
  return "";
}

std::string_view order_of(AtomicOrder order) {
  switch (order) {
    case AtomicOrder::kRelaxed:
      return "kRelaxed";
    case AtomicOrder::kAcquire:
      return "kAcquire";
    case AtomicOrder::kRelease:
      return "kRelease";
    case AtomicOrder::kAcqRel:
      return "kAcqRel";
  }
  return "";
}

std::string_view scope_of(std::string_view scope) {
  return scope == "cta" ? "kCta" : scope == "gpu" ? "kGpu" : "kSystem";
}

bool is_fetched_scalar(const Statement& statement) {
  return statement.flag("returns") && statement.integers("shape").empty();
}

/// Sums that nobody looks at go by vectors, where the GPU adds them.
bool adds_vectors(const Statement& statement, const TileAccess& access) {
  const DType dtype = access.tile->type.dtype;
  const bool has_vectors = dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
  return statement.text("kind") == "add" && !statement.flag("returns") && has_vectors &&
         access.offsets == nullptr && vector_of(access, access.tile->type) > 1;
}

}  // namespace

int atomic_shared_bytes(const Statement& statement, int num_threads) {
  if (is_fetched_scalar(statement)) return num_bytes(statement.result()->type.dtype);
  if (statement.integers("shape").empty()) return 0;
  const int offsets_bytes = access_shared_bytes(statement, num_threads);
  const Type& type = statement.operands.at(1)->type;
  if (!statement.flag("returns") || !type.layout.is_replicated()) return offsets_bytes;
  return std::max(offsets_bytes, device::piece_bytes(static_cast<int>(type.num_elements()),
                                                     num_bytes(type.dtype)));
}

void emit_tile_atomic_cuda(const Statement& statement, CudaEmitter& emitter) {
  const TileAccess access = TileAccess::of(statement);
  const Atomic atomic = Atomic::of(statement);
  const bool returns = statement.flag("returns");
  const bool is_scalar = access.dimensions.empty();
  emitter.include("atomics.cuh");
  const std::string how =
      fmt::format("tw::{}, tw::Order::{}, tw::Scope::{}", function_of(atomic.kind),
                  order_of(atomic.order), scope_of(atomic.scope));
  std::string values = emitter.argument(access.tile);
  if (access.compare != nullptr) values += ", " + emitter.argument(access.compare);
  std::string text;
  if (is_scalar) {
    const std::string condition = scalar_condition(access, emitter);
    const std::string place = fmt::format("{}, {}", emitter.argument(access.pointer),
                                          condition.empty() ? "true" : condition);
    text = returns ? fmt::format("tw::atomic_fetch<{}>({}, {}, {})", how, emitter.shared(statement),
                                 place, values)
                   : fmt::format("tw::atomic<{}>({}, {});", how, place, values);
  } else {
    const std::string where = access.where == nullptr ? "true" : emitter.argument(access.where);
    const std::string place = access_text(access, access.tile->type, statement, emitter, true);
    if (adds_vectors(statement, access)) {
      emitter.include("atomic_vectors.cuh");
      return emitter.statement(
          fmt::format("tw::add_to_memory<{}, {}, tw::Order::{}, tw::Scope::{}>({}, {}, {});",
                      emitter.type(access.tile->type), vector_of(access, access.tile->type),
                      order_of(atomic.order), scope_of(atomic.scope), place, where, values));
    }
    text = returns ? fmt::format("tw::atomic_fetch<{}, {}>({}, {}, {}, {})",
                                 emitter.type(access.tile->type), how, emitter.shared(statement),
                                 place, where, values)
                   : fmt::format("tw::atomic<{}, {}>({}, {}, {});", emitter.type(access.tile->type),
                                 how, place, where, values);
  }
  if (!returns) return emitter.statement(text);
  emitter.define_here(statement.result(), text, "before");
}

}  // namespace tilewire

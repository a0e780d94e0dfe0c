#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ir/program.h"
#include "compiler/ops/op.h"

namespace tilewire {

enum class AtomicKind : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kCas };
enum class AtomicOrder : std::uint8_t { kRelaxed, kAcquire, kRelease, kAcqRel };

/// What a `tile_atomic` does to each element, beside where (TileAccess).
struct Atomic {
  AtomicKind kind;
  AtomicOrder order;
  std::string_view scope;  ///< `cta`, `gpu` or `system`

  static Atomic of(const Statement& statement);
  bool acquires() const;
  bool releases() const;
};

/// UserError where no atomic of the kind changes elements of this dtype.
void check_atomic(const OpCall& call, std::string_view kind, DType dtype);

}  // namespace tilewire

#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/object_access.h"

namespace tilewire {

/// Writes a statement of an op on synchronisation objects, under its predicate if it has one.
void emit_object_op(const ObjectAccess& access, CudaEmitter& emitter, const std::string& text);

/// Which elements, from the first one on: `tw::ObjectSlice<tw::Extents<2, 8>, tw::Extents<8,
/// 1>>{}`.
std::string object_slice(const ObjectAccess& access);

/// What a barrier, a signal or a set orders, attribute `order`: `kAcqRel`.
std::string_view order_name(const Statement& statement);

/// Where those are who use the object: `tw::Scope::kGpu`.
std::string_view object_scope(const Statement& statement);

/// Template arguments of what tells: `tw::Order::kRelease, tw::Scope::kGpu, tw::Scope::kSystem`,
/// who is told and, where that is another scope, who uses the object.
std::string telling_arguments(const Statement& statement, const CudaEmitter& emitter);

/// The group of threads that a wait is for (templates/tilewire/group.cuh); empty: all of the
/// program's.
std::string waiting_group(const Statement& statement, const CudaEmitter& emitter);

/// Nanoseconds until a wait gives up: `lane.timeout_ns`.
std::string_view wait_timeout(const Statement& statement);

}  // namespace tilewire

#pragma once

#include <string>

#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/object_access.h"

namespace tilewire {

/// Writes a statement of an op on synchronisation objects, under its predicate if it has one.
void emit_object_op(const ObjectAccess& access, CudaEmitter& emitter, const std::string& text);

/// Which elements, from the first one on: `tw::ObjectSlice<tw::Extents<2, 8>, tw::Extents<8,
/// 1>>{}`.
std::string object_slice(const ObjectAccess& access);

}  // namespace tilewire

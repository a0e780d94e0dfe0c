#include "compiler/codegen/cuda/object.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tilewire {

void emit_object_op(const ObjectAccess& access, CudaEmitter& emitter, const std::string& text) {
  if (access.predicate == nullptr) return emitter.statement(text);
  emitter.statement(fmt::format("if ({}) {}", emitter.argument(access.predicate), text));
}

std::string object_slice(const ObjectAccess& access) {
  return fmt::format("tw::ObjectSlice<tw::Extents<{}>, tw::Extents<{}>>()",
                     fmt::join(access.shape, ", "), fmt::join(access.strides, ", "));
}

}  // namespace tilewire

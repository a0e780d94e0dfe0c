#pragma once

#include <string_view>

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

/// How an element-wise op is spelled: as a device function, and where C++ has an operator that does
/// the same to scalars, as that.
struct CudaOperator {
  std::string_view function;  ///< `tw::add`
  std::string_view header;    ///< that defines it
  std::string_view infix = "";
  Binding binding = Binding::kAtom;
};

void emit_operator(const Statement& statement, CudaEmitter& emitter, const CudaOperator& op);

/// InternalError where tiles of one element-wise op are spread over threads differently.
void require_one_layout(const Statement& statement);

}  // namespace tilewire

#pragma once

#include <string>
#include <string_view>

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

void emit_print_cuda(const Statement& statement, CudaEmitter& emitter);
/// A `tw::Assertion` at the statement's line.
std::string assertion(std::string_view message, const Statement& statement, CudaEmitter& emitter);
void emit_assert_cuda(const Statement& statement, CudaEmitter& emitter);
/// What the elements that a line shows come to one thread through.
int print_shared_bytes(const Statement& statement, int num_threads);

}  // namespace tilewire

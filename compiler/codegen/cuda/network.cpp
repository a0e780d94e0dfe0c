#include "compiler/codegen/cuda/network.h"

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

[[noreturn]] void refuse(const Statement& statement) {
  throw UserError(fmt::format("{} has no CUDA form yet", statement.op->name), statement.location);
}

}  // namespace

void emit_network_put_cuda(const Statement& statement, CudaEmitter&) { refuse(statement); }
void emit_network_get_cuda(const Statement& statement, CudaEmitter&) { refuse(statement); }
void emit_network_store_cuda(const Statement& statement, CudaEmitter&) { refuse(statement); }
void emit_network_signal_cuda(const Statement& statement, CudaEmitter&) { refuse(statement); }
void emit_network_flush_cuda(const Statement& statement, CudaEmitter&) { refuse(statement); }
void emit_network_barrier_cuda(const Statement& statement, CudaEmitter&) { refuse(statement); }
void emit_network_grid_barrier_cuda(const Statement& statement, CudaEmitter&) { refuse(statement); }

int network_store_shared_bytes(const Statement&, int) { return 0; }

}  // namespace tilewire

#include "compiler/codegen/cuda/mover.h"

#include <fmt/format.h>

#include "compiler/codegen/cuda/access.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/memory.h"

namespace tilewire {
namespace {

std::string access_of(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("memory.cuh");
  return access_text(TileAccess::of(statement), {}, statement, emitter, true);
}

}  // namespace

void emit_put_tile_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.statement(fmt::format("mover.put({});", emitter.argument(statement.operands.at(0))));
}

void emit_take_tile_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* result = statement.result();
  emitter.define_here(result, fmt::format("mover.take<{}>()", emitter.type(result->type)), "taken");
}

void emit_await_moves_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("mover.await();");
}

void emit_is_mover_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.define(statement.result(), "tw::producer_warp<kThreads>() == tw::kMoverWarp");
}

void emit_receive_tile_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("mover.receive();");
}

void emit_drain_tile_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.statement(fmt::format("mover.drain({});", access_of(statement, emitter)));
}

void emit_fetch_tile_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.statement(fmt::format("mover.fetch({});", access_of(statement, emitter)));
}

void emit_finish_moves_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("mover.finish();");
}

void emit_settle_moves_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("mover.settle();");
}

}  // namespace tilewire

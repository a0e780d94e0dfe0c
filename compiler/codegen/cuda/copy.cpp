#include "compiler/codegen/cuda/copy.h"

#include <fmt/format.h>

#include "compiler/ops/put.h"

namespace tilewire {
namespace {

std::string_view copier_of(const CudaEmitter& emitter) {
  return emitter.is_in_task() ? "task_copier" : "copier";
}

}  // namespace

void emit_view_copy_cuda(const Statement& statement, CudaEmitter& emitter) {
  const ViewCopy copy = ViewCopy::of(statement);
  emitter.include("copy_view.cuh");
  std::string dimensions;
  for (const ViewCopy::Dimension& dimension : copy.dimensions) {
    dimensions +=
        fmt::format(", tw::CopyDim{{{}, {}, {}}}", emitter.argument(dimension.extent),
                    emitter.argument(dimension.to_stride), emitter.argument(dimension.from_stride));
  }
  emitter.statement(fmt::format("{}.copy<{}, {}>({}, {}{});", copier_of(emitter), copy.known_bytes,
                                copy.is_bulk, emitter.argument(copy.to),
                                emitter.argument(copy.from), dimensions));
}

void emit_drain_copies_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement(fmt::format("{}.drain();", copier_of(emitter)));
}

}  // namespace tilewire

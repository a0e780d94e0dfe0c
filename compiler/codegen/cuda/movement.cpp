#include "compiler/codegen/cuda/movement.h"

#include <fmt/format.h>

#include "compiler/ops/layouts.h"
#include "compiler/ops/op.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

/// How the elements of a tile come to the threads that need them under a new shape or layout.
enum class Movement {
  kNone,    ///< every register holds its element already
  kSpread,  ///< every thread holds what it needs, in registers of a slice
  kShared,  ///< through shared memory
};

Movement movement_of(const Statement& statement) {
  const Type& source = statement.operands.at(0)->type;
  const Type& result = statement.result()->type;
  if (statement.is("broadcast") && source.shape != result.shape) {
    const Layout slice = layout_of_slice(slice_repeated_by_broadcast(source, result), result);
    return slice.is_known() && slice == source.layout ? Movement::kSpread : Movement::kShared;
  }
  return are_spread_alike(source, result) ? Movement::kNone : Movement::kShared;
}

}  // namespace

int moved_shared_bytes(const Statement& statement, int) {
  if (movement_of(statement) != Movement::kShared) return 0;
  const Type& source = statement.operands.at(0)->type;
  return device::piece_bytes(static_cast<int>(source.num_elements()), num_bytes(source.dtype));
}

void emit_moved_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* source = statement.operands.at(0);
  const Value* result = statement.result();
  const Movement movement = movement_of(statement);
  if (movement == Movement::kNone) {
    return emitter.alias(result, source);
  }
  emitter.include("shape.cuh");
  const std::string tile = emitter.argument(source);
  const std::string type = emitter.type(result->type);
  if (movement == Movement::kSpread) {
    return emitter.define(result, fmt::format("tw::spread<{}>({})", type, tile));
  }
  const std::string arguments = fmt::format("({}, {})", tile, emitter.shared(statement));
  const std::string function =
      statement.is("broadcast")
          ? fmt::format("tw::broadcast<{}, {}, {}>", type, emitter.extents(result->type),
                        emitter.extents(source->type))
          : fmt::format("tw::relayout<{}>", type);
  emitter.define_here(result, function + arguments, statement.op->name);
}

int extract_shared_bytes(const Statement& statement, int) {
  return num_bytes(statement.result()->type.dtype);
}

void emit_extract_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* tile = statement.operands.at(0);
  emitter.include("shape.cuh");
  std::string arguments = fmt::format("{}, {}", emitter.argument(tile), emitter.shared(statement));
  for (std::size_t i = 1; i < statement.operands.size(); ++i) {
    arguments += ", " + emitter.argument(statement.operands[i]);
  }
  emitter.define_here(statement.result(),
                      fmt::format("tw::extract<{}>({})", emitter.extents(tile->type), arguments),
                      "element");
}

}  // namespace tilewire

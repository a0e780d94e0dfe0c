#include "compiler/codegen/cuda/movement.h"

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "templates/tilewire/layout.cuh"

namespace tilewire {
namespace {

/// How the elements of a reshaped or broadcast tile come to the threads that need them.
enum class Movement {
  kNone,    ///< every register holds its element already
  kRepeat,  ///< every thread holds what it needs, in other registers
  kShared,  ///< through shared memory
};

Movement movement_of(const Statement& statement, int num_threads) {
  const Type& source = statement.operands.at(0)->type;
  const Type& result = statement.result()->type;
  if (source.layout != result.layout) return Movement::kShared;
  if (source.num_elements() == result.num_elements()) return Movement::kNone;
  if (source.layout.kind != Layout::Kind::kBlocked) return Movement::kShared;
  // Extents of 1 in front, and rounds over all threads behind: round k is round k mod n again.
  std::size_t first = 0;
  while (first < source.shape.size() && source.shape[first] == 1) ++first;
  for (std::size_t i = first; i < source.shape.size(); ++i) {
    if (source.shape[i] != result.shape[i]) return Movement::kShared;
  }
  const std::int64_t round = std::int64_t{source.layout.vector} * num_threads;
  return source.num_elements() % round == 0 ? Movement::kRepeat : Movement::kShared;
}

}  // namespace

int moved_shared_bytes(const Statement& statement, int num_threads) {
  if (movement_of(statement, num_threads) != Movement::kShared) return 0;
  const Type& source = statement.operands.at(0)->type;
  return device::piece_bytes(static_cast<int>(source.num_elements()), num_bytes(source.dtype));
}

void emit_moved_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* source = statement.operands.at(0);
  const Value* result = statement.result();
  const Movement movement = movement_of(statement, emitter.num_threads());
  if (movement == Movement::kNone) {
    return emitter.alias(result, source);
  }
  emitter.include("shape.cuh");
  const std::string tile = emitter.argument(source);
  const std::string type = emitter.type(result->type);
  if (movement == Movement::kRepeat) {
    return emitter.define(result, fmt::format("tw::repeat<{}>({})", type, tile));
  }
  const std::string arguments = fmt::format("({}, {})", tile, emitter.shared(statement));
  const std::string function =
      statement.is("reshape")
          ? fmt::format("tw::relayout<{}>", type)
          : fmt::format("tw::broadcast<{}, {}, {}>", type, emitter.extents(result->type),
                        emitter.extents(source->type));
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

// Tiles that a warp of its own carries between memory and shared memory: what the consumers do, and
// what the mover does.
#include "compiler/ops/mover.h"

#include "compiler/codegen/cuda/mover.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/op.h"
#include "templates/tilewire/fragment_layout.cuh"

namespace tilewire {
namespace {

std::vector<Type> infer_put_tile(const OpCall& call) {
  require_tile(call, 0);
  return {};
}

std::vector<Type> infer_take_tile(const OpCall& call) {
  const auto& shape = integers_attribute(call, "shape");
  require_tile_shape(call, shape);
  return {Type::tile(dtype_attribute(call, "dtype"), shape)};
}

std::vector<Type> infer_access(const OpCall& call) {
  const Type& pointer = require_pointer(call, 0);
  check_access(call, Type::tile(pointer.dtype, integers_attribute(call, "shape")), 1);
  return {};
}

std::vector<Type> infer_nothing(const OpCall&) { return {}; }

std::vector<Type> infer_is_mover(const OpCall&) { return {Type::scalar(DType::kBool)}; }

OpInfo mover_op(std::string_view name, std::string_view summary,
                std::vector<Type> (*infer)(const OpCall&),
                void (*emit_cuda)(const Statement&, CudaEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.stage = Stage::kLowered;
  op.is_for_cuda = true;
  op.effect = Effect::kWrites;  // in order with what reads and writes, and with each other
  op.infer = infer;
  op.emit_cuda = emit_cuda;
  return op;
}

OpInfo put_tile_op() {
  OpInfo op = mover_op("put_tile", "The consumers hand a tile to the mover.", infer_put_tile,
                       emit_put_tile_cuda);
  op.min_operands = op.max_operands = 1;
  return op;
}

OpInfo take_tile_op() {
  OpInfo op = mover_op("take_tile", "The consumers take the tile that the mover fetched next.",
                       infer_take_tile, emit_take_tile_cuda);
  op.attributes = {{"shape", AttributeSpec::Kind::kIntegers, true, "of the tile"},
                   {"dtype", AttributeSpec::Kind::kDType, true, "of its elements"}};
  return op;
}

OpInfo access_op(std::string_view name, std::string_view summary,
                 void (*emit_cuda)(const Statement&, CudaEmitter&)) {
  OpInfo op = mover_op(name, summary, infer_access, emit_cuda);
  op.min_operands = 1;
  op.max_operands = -1;
  op.attributes = access_attributes();
  return op;
}

bool is_access(const Statement& statement) {
  return statement.is("tile_load") || statement.is("tile_store") || statement.is("drain_tile") ||
         statement.is("fetch_tile");
}

}  // namespace

bool is_moved(const Statement& statement) {
  return statement.is("drain_tile") || statement.is("fetch_tile") ||
         (is_access(statement) && statement.flag("moved"));
}

int moved_bytes(const Statement& statement) {
  const auto& shape = statement.integers("shape");
  const int row_bytes =
      static_cast<int>(shape.at(1)) * num_bytes(statement.operands.at(0)->type.dtype);
  return static_cast<int>(shape.at(0)) * device::moved_row_stride(row_bytes);
}

bool meets_mover(const Statement& statement) {
  return statement.is("put_tile") || statement.is("take_tile") || statement.is("await_moves");
}

bool is_movers(const Statement& statement) { return statement.branches_on("is_mover"); }

std::vector<OpInfo> mover_ops() {
  OpInfo is_mover = mover_op("is_mover", "Whether this thread is the mover's.", infer_is_mover,
                             emit_is_mover_cuda);
  is_mover.effect = Effect::kPure;
  return {
      put_tile_op(),
      take_tile_op(),
      mover_op("await_moves",
               "The consumers wait until the mover has stored what they handed over, and has told "
               "others of it.",
               infer_nothing, emit_await_moves_cuda),
      is_mover,
      mover_op("receive_tile", "The mover takes what the consumers put.", infer_nothing,
               emit_receive_tile_cuda),
      access_op("drain_tile", "The mover begins to store the tile that it received.",
                emit_drain_tile_cuda),
      access_op("fetch_tile", "The mover brings a tile to where the consumers take it.",
                emit_fetch_tile_cuda),
      mover_op("finish_moves", "What the consumers await: all that was drained is stored.",
               infer_nothing, emit_finish_moves_cuda),
      mover_op("settle_moves", "Behind it the mover may tell others of what it drained.",
               infer_nothing, emit_settle_moves_cuda),
  };
}

}  // namespace tilewire

// What the roles of a kernel with products do: a producer brings operands to shared memory by TMA,
// consumers multiply what lies there.
#include "compiler/ops/staging.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/atomic.h"
#include "compiler/ops/infer.h"
#include "templates/tilewire/fragment_layout.cuh"

namespace tilewire {
namespace {

/// Operands of a place in a map: the view, the rank, and an index per dimension of the parameter.
void check_place(const OpCall& call, std::size_t next) {
  const Type& view = require_view(call, 0);
  const std::size_t num_ranks = flag_attribute(call, "peer") ? 1 : 0;
  const std::size_t end = next + num_ranks + view.shape.size();
  if (call.operands.size() != end) {
    call.fail(
        fmt::format("{} operands for a parameter of rank {}", call.operands.size(), view.rank()));
  }
  for (; next < end; ++next) require_index(call, next);
  for (const std::int64_t dimension : integers_attribute(call, "dimensions")) {
    if (dimension < 0 || dimension >= view.rank()) {
      call.fail(fmt::format("dimension {} of {}", dimension, view.to_string()));
    }
  }
}

std::vector<Type> infer_operand_load(const OpCall& call) {
  check_place(call, 1);
  const auto& shape = integers_attribute(call, "shape");
  require_tile_shape(call, shape);
  return {Type::tile(call.operands[0].dtype, shape)};
}

std::vector<Type> infer_staged_operand(const OpCall& call) {
  const auto& shape = integers_attribute(call, "shape");
  require_tile_shape(call, shape);
  return {Type::tile(dtype_attribute(call, "dtype"), shape)};
}

std::vector<Type> infer_same_tile(const OpCall& call) { return {require_tile(call, 0)}; }

std::vector<Type> infer_nothing(const OpCall&) { return {}; }

std::vector<Type> infer_index(const OpCall&) { return {Type::scalar(kIndex)}; }

std::vector<Type> infer_is_producer(const OpCall&) { return {Type::scalar(DType::kBool)}; }

OpInfo lowered_op(std::string_view name, std::string_view summary,
                  std::vector<Type> (*infer)(const OpCall&),
                  void (*emit_cuda)(const Statement&, CudaEmitter&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.stage = Stage::kLowered;
  op.is_for_cuda = true;
  op.infer = infer;
  op.emit_cuda = emit_cuda;
  return op;
}

OpInfo operand_load_op() {
  OpInfo op = lowered_op("operand_load",
                         "A matmul's operand, which the producer brings to the next slot of the "
                         "ring; elements outside of the parameter are 0.",
                         infer_operand_load, emit_operand_load_cuda);
  op.min_operands = 1;
  op.max_operands = -1;
  op.attributes = {
      {"shape", AttributeSpec::Kind::kIntegers, true, "of the tile"},
      {"dimensions", AttributeSpec::Kind::kIntegers, true, "the parameter's, of the tile's each"},
      {"place", AttributeSpec::Kind::kInteger, true, "0: the matmul's left operand, 1: its right"},
      {"product", AttributeSpec::Kind::kInteger, true, "whose: both operands share a slot"},
      {"depth", AttributeSpec::Kind::kInteger, true, "the tile's dimension along K"},
      {"offset", AttributeSpec::Kind::kInteger, true, "bytes of the slot before it"},
      {"shared", AttributeSpec::Kind::kBool, false,
       "brought once for all instances of a cluster, a part by each"},
      {"peer", AttributeSpec::Kind::kBool, false, "the second operand is an LSA rank"}};
  op.effect = Effect::kHidden;
  return op;
}

OpInfo staged_operand_op() {
  OpInfo op = lowered_op("staged_operand",
                         "A matmul's operand, in the slot of the ring that was filled next.",
                         infer_staged_operand, emit_nothing_cuda);
  op.attributes = {{"shape", AttributeSpec::Kind::kIntegers, true, "of the tile"},
                   {"dtype", AttributeSpec::Kind::kDType, true, "of its elements"},
                   {"place", AttributeSpec::Kind::kInteger, true, "as of the `operand_load`"},
                   {"by_columns", AttributeSpec::Kind::kBool, false,
                    "neighbours in memory lie along its last dimension, else along its first"},
                   {"offset", AttributeSpec::Kind::kInteger, false,
                    "bytes of the slot before it, where `copy_operand` filled it"},
                   {"shared", AttributeSpec::Kind::kBool, false, "as of the `operand_load`"}};
  op.effect = Effect::kHidden;
  return op;
}

OpInfo skip_op() {
  OpInfo op = lowered_op("skip_product",
                         "Takes a product's operands from the ring without multiplying them.",
                         infer_nothing, emit_skip_product_cuda);
  op.min_operands = 1;
  op.max_operands = 2;
  op.effect = Effect::kHidden;
  return op;
}

OpInfo finish_op() {
  OpInfo op = lowered_op("finish_product",
                         "The product, when all that was multiplied for it is in its registers.",
                         infer_same_tile, emit_finish_product_cuda);
  op.min_operands = op.max_operands = 1;
  op.effect = Effect::kHidden;
  return op;
}

OpInfo give_index_op() {
  OpInfo op =
      lowered_op("give_index",
                 "The producer draws the next number of a counter (`next_index`), and hands "
                 "it to the consumers.",
                 infer_index, emit_give_index_cuda);
  op.attributes = {{"counter", AttributeSpec::Kind::kInteger, true, "which one"}};
  op.effect = Effect::kHidden;
  return op;
}

OpInfo take_index_op() {
  OpInfo op =
      lowered_op("take_index", "What the producer gives next.", infer_index, emit_take_index_cuda);
  op.effect = Effect::kHidden;
  return op;
}

OpInfo handing_op(std::string_view name, std::string_view summary,
                  void (*emit_cuda)(const Statement&, CudaEmitter&)) {
  OpInfo op = lowered_op(name, summary, infer_nothing, emit_cuda);
  op.effect = Effect::kHidden;
  return op;
}

}  // namespace

MapAccess MapAccess::of(const Statement& statement) {
  MapAccess access;
  access.parameter = statement.operands.at(0);
  std::size_t next = 1;
  access.tile = statement.result();
  if (statement.flag("peer")) access.rank = statement.operands.at(next++);
  for (int i = access.parameter->type.rank(); i > 0; --i) {
    access.coordinates.push_back(statement.operands.at(next++));
  }
  access.dimensions = statement.integers("dimensions");
  access.shape = access.tile->type.shape;
  return access;
}

bool MapAccess::is_contiguous_along(std::size_t dimension) const {
  return dimensions.at(dimension) == parameter->type.rank() - 1;
}

bool is_staged(const Statement& matmul) { return matmul.is("matmul") && matmul.flag("staged"); }

std::size_t first_staged_operand(const Statement& matmul) { return matmul.flag("held") ? 1 : 0; }

bool has_staged_product(const Region& region) {
  bool has = false;
  for_each_statement(region, [&has](const Statement& statement) { has |= is_staged(statement); });
  return has;
}

std::int64_t slot_bytes(const Statement& matmul) {
  std::int64_t bytes = 0;
  for (std::size_t i = first_staged_operand(matmul); i < 2; ++i) {
    const Type& tile = matmul.operands.at(i)->type;
    bytes += tile.num_elements() * num_bytes(tile.dtype);
  }
  return bytes;
}

bool is_ahead(const Statement& matmul) { return matmul.is("matmul") && matmul.has("ahead"); }

bool has_product_ahead(const Region& region) {
  bool has = false;
  for_each_statement(region, [&has](const Statement& statement) { has |= is_ahead(statement); });
  return has;
}

int warpgroups_ahead(const Statement& matmul) { return static_cast<int>(matmul.integer("ahead")); }

int consumer_threads(std::int64_t rows) {
  const std::int64_t blocks = std::max<std::int64_t>(rows / device::kWgmmaRows, 1);
  std::int64_t warpgroups = std::min<std::int64_t>(blocks, 3);
  while (blocks % warpgroups != 0) --warpgroups;
  return static_cast<int>(warpgroups) * device::kWarpgroupThreads;
}

bool is_acquire(const Statement& statement) {
  if (statement.kind != StatementKind::kOp) return false;
  if (statement.is("tile_atomic")) return Atomic::of(statement).acquires();
  return statement.op->effect == Effect::kSynchronises && statement.op->meeting.waits &&
         statement.op->meeting.learns;
}

bool is_producers_wait(const Statement& statement) {
  return statement.is("flag_wait") && statement.flag("producer");
}

bool are_roles(const Statement& statement) { return statement.branches_on("is_producer"); }

bool has_roles(const Program& program) {
  return std::ranges::any_of(program.body.statements,
                             [](const auto& statement) { return are_roles(*statement); });
}

std::vector<OpInfo> staging_ops() {
  return {
      operand_load_op(),
      staged_operand_op(),
      finish_op(),
      skip_op(),
      lowered_op("is_producer", "Whether this thread belongs to the producer.", infer_is_producer,
                 emit_is_producer_cuda),
      give_index_op(),
      take_index_op(),
      handing_op("hand_over",
                 "Tells the producer that the consumers have come so far: what they have acquired, "
                 "its loads may see.",
                 emit_hand_over_cuda),
      handing_op("await_hand_over", "The producer waits for the next `hand_over`.",
                 emit_await_hand_over_cuda),
  };
}

}  // namespace tilewire

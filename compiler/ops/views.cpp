#include <fmt/format.h>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/memory.h"

namespace tilewire {
namespace {

std::vector<Type> infer_at(const OpCall& call) {
  const Type& window = require_any_view(call, 0);
  if (window.memory == Memory::kTensor) {
    call.fail("a tensor is this rank's own memory; only a window has copies on other ranks");
  }
  require_index(call, 1);
  const std::string& team = text_attribute(call, "team");
  if (!team.empty() && team != "network") require_one_of(call, "team", {"world", "lsa", "rail"});
  return {window};
}

/// Checks a slice's operands; gives the index tiles' common shape, empty where there are none.
std::vector<std::int64_t> check_slice_operands(const OpCall& call,
                                               const std::vector<SlicePattern>& patterns) {
  std::vector<std::int64_t> tile_shape;
  std::size_t operand = 1;
  bool has_gap = false;
  for (const SlicePattern& pattern : patterns) {
    const bool is_tile = pattern.kind == SliceIndex::Kind::kTile;
    has_gap |= !tile_shape.empty() && !is_tile && pattern.kind != SliceIndex::Kind::kAt;
    for (int k = 0; k < num_operands(pattern.kind); ++k, ++operand) {
      if (operand >= call.operands.size()) call.fail("too few operands for its index pattern");
      if (!is_tile) {
        require_index(call, operand);
        continue;
      }
      const Type& tile = require_tile(call, operand);
      if (!is_integer(tile.dtype)) {
        call.fail(fmt::format("an index tile holds integers, this one is {}", tile.to_string()));
      }
      if (!tile_shape.empty() && tile.shape != tile_shape) {
        call.fail(fmt::format("index tiles of shapes {} and {}", shape_to_string(tile_shape),
                              shape_to_string(tile.shape)));
      }
      if (has_gap) {
        call.fail(
            "index tiles must stand side by side: a `:`, tw.ds or range between them would leave "
            "open where their dimensions go; slice in two steps, or reorder the dimensions");
      }
      tile_shape = tile.shape;
    }
  }
  if (operand != call.operands.size()) call.fail("too many operands for its index pattern");
  return tile_shape;
}

/// Reads the pattern against the view's rank; operands are checked to be indices.
std::vector<Type> infer_slice(const OpCall& call) {
  const Type& view = require_any_view(call, 0);
  const std::vector<SlicePattern> patterns = parse_slice_pattern(text_attribute(call, "index"));
  if (patterns.size() != view.shape.size()) {
    call.fail(fmt::format("{} indices for {} of rank {}", patterns.size(), view.to_string(),
                          view.rank()));
  }
  std::vector<std::int64_t> tile_shape = check_slice_operands(call, patterns);
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    switch (patterns[i].kind) {
      case SliceIndex::Kind::kAt:
        break;
      case SliceIndex::Kind::kAll:
        shape.push_back(view.shape[i]);
        break;
      case SliceIndex::Kind::kDs:
      case SliceIndex::Kind::kDsBelow:
        if (patterns[i].size <= 0) {
          call.fail(fmt::format("ds(start, {}): the size must be above 0", patterns[i].size));
        }
        shape.push_back(patterns[i].size);
        break;
      case SliceIndex::Kind::kRange:
        shape.push_back(kDynamic);
        break;
      case SliceIndex::Kind::kTile:  // the first one brings the dimensions of all
        shape.insert(shape.end(), tile_shape.begin(), tile_shape.end());
        tile_shape.clear();
        break;
    }
  }
  return {Type::view(view.dtype, shape, view.memory)};
}

std::vector<Type> infer_dimension_of_view(const OpCall& call) {
  const Type& view = require_any_view(call, 0);
  const std::int64_t dimension = integer_attribute(call, "dimension");
  if (dimension < 0 || dimension >= view.rank()) {
    call.fail(fmt::format("{} has no dimension {}", view.to_string(), dimension));
  }
  return {Type::scalar(kIndex)};
}

std::vector<Type> infer_address(const OpCall& call) {
  const Type& view = require_any_view(call, 0);
  const bool is_peer = flag_attribute(call, "peer");
  const bool is_multicast = flag_attribute(call, "multicast");
  if (call.operands.size() != (is_peer ? 3U : 2U))
    call.fail("operands: base, a rank if peer, offset");
  if (is_peer && view.memory == Memory::kTensor)
    call.fail("only symmetric memory has an address at a peer");
  if (is_multicast && (is_peer || view.memory != Memory::kWindow))
    call.fail("only a window has a multicast address, and it is of all ranks");
  for (std::size_t i = 1; i < call.operands.size(); ++i) require_index(call, i);
  return {Type::pointer(view.dtype)};
}

void emit_cpu_stride(const Statement& statement, CpuEmitter& emitter) {
  emitter.define(statement.result(),
                 emitter.stride(statement.operands[0], statement.integer("dimension")));
}

void emit_cpu_address(const Statement& statement, CpuEmitter& emitter) {
  const Value* rank = statement.flag("peer") ? statement.operands[1] : nullptr;
  emitter.define_address(statement, statement.operands[0], rank, statement.operands.back());
}

void emit_stride_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.define(
      statement.result(),
      emitter.stride(statement.operands.at(0), static_cast<int>(statement.integer("dimension"))));
}

void emit_address_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Value* view = statement.operands.at(0);
  std::string base = emitter.parameter(view);
  const std::string offset = emitter.operand(statement.operands.back(), Binding::kAdd);
  const std::string behind = offset == "0" ? "" : " + " + offset;
  if (statement.flag("multicast")) {
    return emitter.define_here(statement.result(), emitter.multicast_address(view) + behind,
                               base + "_at_all");
  }
  if (statement.flag("peer")) {
    const Value* rank = statement.operands.at(1);
    return emitter.define_here(
        statement.result(), emitter.peer_address(view, rank) + behind,
        fmt::format("{}_at_{}", base, emitter.operand(rank, Binding::kChoose)));
  }
  if (view->type.memory != Memory::kTensor) {
    base = fmt::format("static_cast<{}>({}.local)", emitter.type(statement.result()->type), base);
  }
  emitter.define(statement.result(), base + behind,
                 behind.empty() ? Binding::kAtom : Binding::kAdd);
}

OpInfo at_op() {
  OpInfo op;
  op.name = "at";
  op.summary = "A rank's copy of a window.";
  op.min_operands = op.max_operands = 2;
  op.attributes = {
      {"team", AttributeSpec::Kind::kText, true,
       "whose numbering the rank is in: `lsa`, `rail`, `world`; empty: world; `network`: "
       "the world, out of reach of loads and stores"}};
  op.stage = Stage::kFrontend;
  op.infer = infer_at;
  return op;
}

OpInfo slice_op() {
  OpInfo op;
  op.name = "slice";
  op.summary = "A part of a view, made by indexing it.";
  op.min_operands = 1;
  op.max_operands = -1;
  op.attributes = {
      {"index", AttributeSpec::Kind::kText, true,
       "per dimension: `at` (index), `all`, `ds N` (start), `ds N below` (start, end), `range` "
       "(lower, upper), `tile` (an integer tile)"}};
  op.stage = Stage::kFrontend;
  op.infer = infer_slice;
  return op;
}

OpInfo extent_op() {
  OpInfo op;
  op.name = "extent";
  op.summary = "How many elements a view has along a dimension.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"dimension", AttributeSpec::Kind::kInteger, true, "of the view, from 0"}};
  op.stage = Stage::kFrontend;
  op.infer = infer_dimension_of_view;
  return op;
}

OpInfo stride_op() {
  OpInfo op;
  op.name = "stride";
  op.summary = "Elements between neighbours along a dimension of a tensor parameter.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"dimension", AttributeSpec::Kind::kInteger, true, "of the parameter, from 0"}};
  op.stage = Stage::kLowered;
  op.infer = infer_dimension_of_view;
  op.emit_cpu = emit_cpu_stride;
  op.emit_cuda = emit_stride_cuda;
  return op;
}

OpInfo address_op() {
  OpInfo op;
  op.name = "address";
  op.summary =
      "The address of an element of a parameter: here, at a peer, or in all copies at once.";
  op.min_operands = 2;
  op.max_operands = 3;
  op.attributes = {
      {"peer", AttributeSpec::Kind::kBool, false, "a rank stands before the offset"},
      {"multicast", AttributeSpec::Kind::kBool, false, "in all copies of the LSA team at once"}};
  op.stage = Stage::kLowered;
  op.infer = infer_address;
  op.emit_cpu = emit_cpu_address;
  op.emit_cuda = emit_address_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> view_ops() {
  return {at_op(), slice_op(), extent_op(), stride_op(), address_op()};
}

}  // namespace tilewire

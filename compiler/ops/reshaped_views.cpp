// Views that look at memory in another way than their parameter does, and the mask of a view.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"

namespace tilewire {
namespace {

constexpr std::size_t kMaxRank = 8;

std::size_t num_dynamic(const std::vector<std::int64_t>& amounts) {
  return static_cast<std::size_t>(std::count(amounts.begin(), amounts.end(), kDynamic));
}

std::vector<Type> infer_view(const OpCall& call) {
  const Type& base = require_view(call, 0);
  const auto& shape = integers_attribute(call, "shape");
  const auto& strides = integers_attribute(call, "strides");
  if (shape.size() != strides.size() || shape.size() > kMaxRank) {
    call.fail(
        fmt::format("{} extents and {} strides; a view has one stride per extent, and rank {} "
                    "at most",
                    shape.size(), strides.size(), kMaxRank));
  }
  for (const std::int64_t extent : shape) {
    if (extent < kDynamic) call.fail(fmt::format("an extent is {}", extent));
  }
  const std::size_t expected = 2 + num_dynamic(shape) + num_dynamic(strides);
  if (call.operands.size() != expected) {
    call.fail("operands: view, offset, the run-time extents, the run-time strides");
  }
  for (std::size_t i = 1; i < call.operands.size(); ++i) require_index(call, i);
  return {Type::view(base.dtype, shape, base.memory)};
}

std::vector<Type> infer_permute(const OpCall& call) {
  const Type& view = require_view(call, 0);
  const auto& order = integers_attribute(call, "order");
  std::vector<std::int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool fits = order.size() == view.shape.size();
  for (std::size_t i = 0; fits && i < sorted.size(); ++i) {
    fits = sorted[i] == static_cast<std::int64_t>(i);
  }
  if (!fits) {
    call.fail(fmt::format("{} is no order of the dimensions of {}", shape_to_string(order),
                          view.to_string()));
  }
  std::vector<std::int64_t> shape;
  for (const std::int64_t axis : order) shape.push_back(view.shape[static_cast<std::size_t>(axis)]);
  return {Type::view(view.dtype, shape, view.memory)};
}

std::vector<Type> infer_field(const OpCall& call) {
  const Type& bytes = require_view(call, 0);
  if (bytes.dtype != DType::kU8 || bytes.shape.empty() || bytes.shape.back() == kDynamic) {
    call.fail(fmt::format("records lie in bytes whose last extent is known, found {}",
                          bytes.to_string()));
  }
  const DType dtype = dtype_attribute(call, "dtype");
  const auto& shape = integers_attribute(call, "shape");
  const std::int64_t offset = integer_attribute(call, "offset");
  std::int64_t size = num_bytes(dtype);
  for (const std::int64_t extent : shape) {
    if (extent <= 0) call.fail(fmt::format("an extent of the field is {}", extent));
    size *= extent;
  }
  const std::int64_t record = bytes.shape.back();
  if (offset < 0 || offset + size > record || offset % num_bytes(dtype) != 0 ||
      record % num_bytes(dtype) != 0) {
    call.fail(fmt::format("{} bytes of {} at offset {} don't fit records of {} bytes", size,
                          name_of(dtype), offset, record));
  }
  std::vector<std::int64_t> extents(bytes.shape.begin(), bytes.shape.end() - 1);
  extents.insert(extents.end(), shape.begin(), shape.end());
  return {Type::view(dtype, extents, bytes.memory)};
}

std::vector<Type> infer_inside(const OpCall& call) {
  const Type& view = require_view(call, 0);
  if (view.shape.empty()) return {Type::scalar(DType::kBool)};
  if (std::count(view.shape.begin(), view.shape.end(), kDynamic) > 0) {
    call.fail(
        fmt::format("{} has an extent that is known only at run time, a tile's shape is "
                    "static: take a part of it with tw.ds(start, size)",
                    view.to_string()));
  }
  require_tile_shape(call, view.shape);
  return {Type::tile(DType::kBool, view.shape)};
}

std::vector<Type> infer_pointer_cast(const OpCall& call) {
  require_pointer(call, 0);
  require_index(call, 1);
  return {Type::pointer(dtype_attribute(call, "dtype"))};
}

void emit_pointer_cast_cpu(const Statement& statement, CpuEmitter& emitter) {
  emitter.define_pointer(statement, statement.operands[0], statement.operands[1]);
}

void emit_pointer_cast_cuda(const Statement& statement, CudaEmitter& emitter) {
  const std::string offset = emitter.operand(statement.operands[1], Binding::kAdd);
  const std::string behind = offset == "0" ? "" : " + " + offset;
  emitter.define(statement.result(),
                 fmt::format("reinterpret_cast<{}>({}){}", emitter.type(statement.result()->type),
                             emitter.operand(statement.operands[0], Binding::kChoose), behind),
                 behind.empty() ? Binding::kAtom : Binding::kAdd);
}

OpInfo view_op() {
  OpInfo op;
  op.name = "view";
  op.summary = "Memory from a view's element on, under another shape and other strides.";
  op.min_operands = 2;
  op.max_operands = -1;
  op.attributes = {{"shape", AttributeSpec::Kind::kIntegers, true, "-1: an operand holds it"},
                   {"strides", AttributeSpec::Kind::kIntegers, true, "in elements; -1: as above"}};
  op.stage = Stage::kFrontend;
  op.infer = infer_view;
  return op;
}

OpInfo permute_op() {
  OpInfo op;
  op.name = "permute";
  op.summary = "A view with its dimensions in another order.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {{"order", AttributeSpec::Kind::kIntegers, true,
                    "per dimension of the result, which of the view"}};
  op.stage = Stage::kFrontend;
  op.infer = infer_permute;
  return op;
}

OpInfo field_op() {
  OpInfo op;
  op.name = "field";
  op.summary = "A field of each record of a view of bytes, whose last dimension is the record.";
  op.min_operands = op.max_operands = 1;
  op.attributes = {
      {"offset", AttributeSpec::Kind::kInteger, true, "of the field, in bytes"},
      {"dtype", AttributeSpec::Kind::kDType, true, "of its elements"},
      {"shape", AttributeSpec::Kind::kIntegers, true, "of the field; empty: one element"}};
  op.stage = Stage::kFrontend;
  op.infer = infer_field;
  return op;
}

OpInfo inside_op() {
  OpInfo op;
  op.name = "inside";
  op.summary = "Which elements of a view exist: a bool tile of its shape.";
  op.min_operands = op.max_operands = 1;
  op.stage = Stage::kFrontend;
  op.infer = infer_inside;
  return op;
}

OpInfo pointer_cast_op() {
  OpInfo op;
  op.name = "pointer_cast";
  op.summary = "An address taken for that of another dtype, and an offset in elements of it.";
  op.min_operands = op.max_operands = 2;
  op.attributes = {{"dtype", AttributeSpec::Kind::kDType, true, "what lies there"}};
  op.stage = Stage::kLowered;
  op.infer = infer_pointer_cast;
  op.emit_cpu = emit_pointer_cast_cpu;
  op.emit_cuda = emit_pointer_cast_cuda;
  return op;
}

}  // namespace

std::vector<OpInfo> reshaped_view_ops() {
  return {view_op(), permute_op(), field_op(), inside_op(), pointer_cast_op()};
}

}  // namespace tilewire

#include "compiler/passes/fold_stacks.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "compiler/ops/op.h"

namespace tilewire {
namespace {

const Statement* stack_of(const Value* value) {
  const Statement* definition = value->definition;
  return definition != nullptr && definition->is("stack") ? definition : nullptr;
}

/// A reduction → what combines two of its elements.
std::string_view combining_op(const Statement& op) {
  static const std::map<std::string_view, std::string_view> ops = {
      {"sum", "add"}, {"max", "maximum"}, {"min", "minimum"}, {"any", "or"}, {"all", "and"}};
  const auto found = ops.find(op.op->name);
  return found == ops.end() ? std::string_view{} : found->second;
}

Value* reduce_stack(const Statement& op, const Statement& stack, Inserter& insert) {
  const std::string_view combine = combining_op(op);
  if (combine.empty()) return nullptr;
  const DType dtype = op.result()->type.dtype;
  if (op.has("axis") && op.integer("axis") > 0) {
    std::vector<Value*> parts;
    for (Value* part : stack.operands) {
      parts.push_back(insert.op(op.op->name, {part}, {{"axis", op.integer("axis") - 1}}));
    }
    return insert.op("stack", parts);
  }
  Value* result = nullptr;
  for (Value* part : stack.operands) {
    if (part->type.dtype != dtype) part = insert.op("cast", {part}, {{"dtype", dtype}});
    result = result == nullptr ? part : insert.op(combine, {result, part});
  }
  const bool is_whole = !op.has("axis") && result->type.is_tile();
  return is_whole ? insert.op(op.op->name, {result}) : result;
}

/// `stack[i, …]` is `part_i[…]`; where i isn't known yet, a choice among all.
Value* extract_from(const Statement& op, const Statement& stack, Inserter& insert) {
  const auto element = [&](Value* part) {
    if (part->type.is_scalar()) return part;
    std::vector<Value*> operands(op.operands.begin() + 1, op.operands.end());
    operands[0] = part;
    return insert.op("extract", operands);
  };
  std::int64_t index = 0;
  const auto count = static_cast<std::int64_t>(stack.operands.size());
  if (is_integer_constant(op.operands[1], index)) {
    const bool is_inside = index >= 0 && index < count;
    return is_inside ? element(stack.operands[static_cast<std::size_t>(index)]) : nullptr;
  }
  const DType index_dtype = op.operands[1]->type.dtype;
  Value* result = insert.op("cast", {insert.constant(0)}, {{"dtype", op.result()->type.dtype}});
  for (std::int64_t i = 0; i < count; ++i) {
    Value* is_it = insert.op("eq", {op.operands[1], insert.constant(i, index_dtype)});
    result =
        insert.op("select", {is_it, element(stack.operands[static_cast<std::size_t>(i)]), result});
  }
  return result;
}

Value* part_of(const Statement& op, const Statement& stack, Inserter& insert) {
  const std::vector<std::int64_t>& start = op.integers("start");
  const std::vector<std::int64_t>& shape = op.integers("shape");
  std::vector<Value*> parts;
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    Value* part = stack.operands[static_cast<std::size_t>(start[0] + i)];
    const std::vector<std::int64_t> inner(shape.begin() + 1, shape.end());
    if (part->type.is_tile() && part->type.shape != inner) {
      part = insert.op(
          "part", {part},
          {{"start", std::vector<std::int64_t>(start.begin() + 1, start.end())}, {"shape", inner}});
    }
    parts.push_back(part);
  }
  return insert.op("stack", parts);
}

/// A stack of one tile is that tile under another shape, which may be any.
Value* reshape_of(const Statement& op, const Statement& stack, Inserter& insert) {
  Value* part = stack.operands[0];
  const std::vector<std::int64_t>& shape = op.result()->type.shape;
  if (stack.operands.size() != 1 || op.result()->type.is_scalar()) return nullptr;
  if (part->type.is_scalar()) return insert.op("full", {part}, {{"shape", shape}});
  return part->type.shape == shape ? part : insert.op("reshape", {part}, {{"shape", shape}});
}

/// What part `index` of the result takes of an operand: a scalar, its own part of a stack, or the
/// tile that a broadcast repeats in each part. Null where there is no such thing.
Value* operand_of_part(Value* operand, std::size_t index, const Type& part, Inserter& insert) {
  if (operand->type.is_scalar()) return operand;
  if (const Statement* stack = stack_of(operand)) return stack->operands[index];
  const Statement* definition = operand->definition;
  if (definition == nullptr || !definition->is("broadcast") || !part.is_tile()) return nullptr;
  Value* source = definition->operands[0];
  if (source->type.rank() != operand->type.rank() || source->type.shape[0] != 1) return nullptr;
  const std::vector<std::int64_t> inner(source->type.shape.begin() + 1, source->type.shape.end());
  Value* row = insert.op("reshape", {source}, {{"shape", inner}});
  return inner == part.shape ? row : insert.op("broadcast", {row}, {{"shape", part.shape}});
}

Value* map_stack(const Statement& op, const Statement& stack, Inserter& insert) {
  if (op.is("inline_cuda")) return nullptr;  // its text says shapes
  std::vector<Value*> parts;
  for (std::size_t i = 0; i < stack.operands.size(); ++i) {
    std::vector<Value*> operands;
    for (Value* operand : op.operands) {
      operands.push_back(operand_of_part(operand, i, stack.operands[i]->type, insert));
      if (operands.back() == nullptr) return nullptr;
    }
    parts.push_back(insert.op(op.op->name, operands, op.attributes));
  }
  return insert.op("stack", parts);
}

}  // namespace

Value* simplify_stack(const Statement& op, Inserter& insert) {
  const auto found = std::ranges::find_if(
      op.operands, [](const Value* operand) { return stack_of(operand) != nullptr; });
  if (found == op.operands.end() || op.is("stack")) return nullptr;
  const Statement& stack = *stack_of(*found);
  if (op.op->is_elementwise) return map_stack(op, stack, insert);
  if (op.is("extract")) return extract_from(op, stack, insert);
  if (op.is("part")) return part_of(op, stack, insert);
  if (op.is("reshape")) return reshape_of(op, stack, insert);
  return op.op->reduces_axis ? reduce_stack(op, stack, insert) : nullptr;
}

}  // namespace tilewire

#include "compiler/passes/identities.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/passes/fold.h"
#include "compiler/passes/fold_stacks.h"

namespace tilewire {
namespace {

const Statement* definition_of(const Value* value, std::string_view op) {
  return value->definition != nullptr && value->definition->is(op) ? value->definition : nullptr;
}

/// The scalar that a tile repeats everywhere.
Value* repeated(const Value* tile) {
  const Statement* full = definition_of(tile, "full");
  return full == nullptr ? nullptr : full->operands[0];
}

/// The constant that a scalar is, or that a tile repeats everywhere.
const Attribute* uniform_constant(const Value* value) {
  const Value* element = repeated(value);
  return constant_value(element == nullptr ? value : element);
}

bool is_integer(const Value* value, std::int64_t number) {
  const Attribute* constant = uniform_constant(value);
  const auto* integer = constant == nullptr ? nullptr : std::get_if<std::int64_t>(constant);
  return integer != nullptr && *integer == number;
}

/// Equal in sign too: 0.0 is not -0.0.
bool is_float(const Value* value, double number) {
  const Attribute* constant = uniform_constant(value);
  const auto* real = constant == nullptr ? nullptr : std::get_if<double>(constant);
  return real != nullptr && *real == number && std::signbit(*real) == std::signbit(number);
}

bool is_bool(const Value* value, bool wanted) {
  const Attribute* constant = uniform_constant(value);
  const auto* flag = constant == nullptr ? nullptr : std::get_if<bool>(constant);
  return flag != nullptr && *flag == wanted;
}

Value* make_uniform(const Type& type, Attribute value, Inserter& insert) {
  Value* element = insert.constant(std::move(value), type.dtype);
  return type.is_tile() ? insert.op("full", {element}, {{"shape", type.shape}}) : element;
}

/// Whether every value of `from` survives a cast to `to` and back.
bool embeds(DType from, DType to) {
  if (from == DType::kBool) return true;
  if (is_float(from)) return is_float(to) && num_bytes(to) > num_bytes(from);
  if (!is_integer(to)) return false;
  return num_bytes(to) >= num_bytes(from);  // wrapping there and back is exact
}

/// `op(full(a), b)` → `full(op(a, b))`; else a repeated operand becomes its scalar where another
/// operand keeps the shape.
Value* simplify_repeated(Statement& op, Inserter& insert) {
  if (!op.op->is_elementwise || !op.result()->type.is_tile()) return nullptr;
  std::vector<Value*> scalars = op.operands;
  bool has_other_tile = false;
  for (Value*& operand : scalars) {
    if (Value* element = repeated(operand)) operand = element;
    has_other_tile |= operand->type.is_tile();
  }
  if (has_other_tile) {
    op.operands = scalars;
    return nullptr;
  }
  Attributes attributes = op.attributes;
  attributes.erase("shape");  // of `inline_cuda`, where no input has one
  Value* element = insert.op(op.op->name, scalars, std::move(attributes));
  return insert.op("full", {element}, {{"shape", op.result()->type.shape}});
}

Value* simplify_bits(Statement& op, Inserter& insert) {
  Value* a = op.operands[0];
  Value* b = op.operands[1];
  if (op.is("xor")) {
    if (is_bool(b, false) || is_integer(b, 0)) return a;
    if (a != b) return nullptr;
    const bool is_flag = a->type.dtype == DType::kBool;
    return make_uniform(op.result()->type, is_flag ? Attribute(false) : std::int64_t{0}, insert);
  }
  if (a == b) return a;
  const bool is_and = op.is("and");
  if (is_bool(b, is_and)) return a;
  if (is_bool(b, !is_and)) return make_uniform(op.result()->type, !is_and, insert);
  if (is_integer(b, 0)) {
    return is_and ? make_uniform(op.result()->type, std::int64_t{0}, insert) : a;
  }
  return nullptr;
}

Value* simplify_comparison(Statement& op, Inserter& insert) {
  if (op.operands[0] != op.operands[1] || is_float(op.operands[0]->type.dtype)) return nullptr;
  const bool holds = op.is("eq") || op.is("le") || op.is("ge");
  return make_uniform(op.result()->type, holds, insert);
}

/// `(x + c1) + c2` → `x + (c1 + c2)`: integers wrap, so the sum is the same.
Value* reassociate(const Statement& op, Inserter& insert) {
  const Statement* inner = definition_of(op.operands[0], "add");
  if (inner == nullptr || !op.result()->type.is_scalar() || !is_integer(op.result()->type.dtype)) {
    return nullptr;
  }
  const Attribute* first = constant_value(inner->operands[1]);
  const Attribute* second = constant_value(op.operands[1]);
  if (first == nullptr || second == nullptr) return nullptr;
  Value* sum = insert.op("add", {inner->operands[1], op.operands[1]});
  return insert.op("add", {inner->operands[0], sum});
}

Value* simplify_arithmetic(Statement& op, Inserter& insert) {
  Value* a = op.operands[0];
  Value* b = op.operands[1];
  const Type& type = op.result()->type;
  const bool is_integral = is_integer(type.dtype);
  const auto zero = [&] { return make_uniform(type, std::int64_t{0}, insert); };
  if (op.is("add")) {
    return is_integer(b, 0) || is_float(b, -0.0) ? a : reassociate(op, insert);
  }
  if (op.is("sub")) {
    if (is_integer(b, 0) || is_float(b, 0.0)) return a;
    return is_integral && a == b ? zero() : nullptr;
  }
  if (op.is("mul")) {
    if (is_integer(b, 1) || is_float(b, 1.0)) return a;
    return is_integer(b, 0) ? zero() : nullptr;
  }
  if (op.is("div")) return is_float(b, 1.0) ? a : nullptr;
  if (op.is("floordiv")) return is_integer(b, 1) ? a : nullptr;
  if (op.is("mod")) return is_integer(b, 1) ? zero() : nullptr;
  if (op.is("shift_left") || op.is("shift_right")) return is_integer(b, 0) ? a : nullptr;
  if (op.is("minimum") || op.is("maximum")) return a == b ? a : nullptr;
  return nullptr;
}

Value* simplify_unary(Statement& op) {
  Value* x = op.operands[0];
  if (op.is("cast")) {
    // One that saturates changes infinity, whatever the dtypes.
    const auto is_plain = [](const Statement& cast) { return cast.attributes.size() == 1; };
    if (!is_plain(op)) return nullptr;
    if (x->type.dtype == op.dtype("dtype")) return x;
    const Statement* inner = definition_of(x, "cast");
    if (inner == nullptr || !is_plain(*inner)) return nullptr;
    Value* source = inner->operands[0];
    return source->type.dtype == op.dtype("dtype") && embeds(source->type.dtype, x->type.dtype)
               ? source
               : nullptr;
  }
  if (op.is("neg") || op.is("not")) {
    const Statement* inner = definition_of(x, op.op->name);
    return inner != nullptr ? inner->operands[0] : nullptr;
  }
  return nullptr;
}

Value* simplify_select(const Statement& op) {
  Value* when_true = op.operands[1];
  Value* when_false = op.operands[2];
  if (when_true == when_false) return when_true;
  if (is_bool(op.operands[0], true)) return when_true;
  return is_bool(op.operands[0], false) ? when_false : nullptr;
}

Value* simplify_shape(Statement& op, Inserter& insert) {
  if (op.is("extract")) {
    Value* element = repeated(op.operands[0]);
    if (element == nullptr) return nullptr;
    for (std::size_t i = 1; i < op.operands.size(); ++i) {
      std::int64_t index = 0;
      if (!is_integer_constant(op.operands[i], index) || index < 0) return nullptr;
      if (index >= op.operands[0]->type.shape[i - 1]) return nullptr;
    }
    return element;
  }
  if (!op.is("broadcast") && !op.is("reshape")) return nullptr;
  if (op.operands[0]->type.shape == op.result()->type.shape) return op.operands[0];
  if (Value* element = repeated(op.operands[0])) {
    return insert.op("full", {element}, {{"shape", op.result()->type.shape}});
  }
  const Statement* inner = op.is("reshape") ? definition_of(op.operands[0], "reshape") : nullptr;
  if (inner != nullptr) op.operands[0] = inner->operands[0];
  return nullptr;
}

/// Constants stand to the right of integer ops that commute.
void order_operands(Statement& op) {
  constexpr std::string_view kCommuting[] = {"add", "mul", "and", "or", "xor", "eq", "ne"};
  const bool commutes =
      std::find(std::begin(kCommuting), std::end(kCommuting), op.op->name) != std::end(kCommuting);
  if (!commutes || is_float(op.operands[0]->type.dtype)) return;
  if (uniform_constant(op.operands[0]) != nullptr && uniform_constant(op.operands[1]) == nullptr) {
    std::swap(op.operands[0], op.operands[1]);
  }
}

}  // namespace

Value* simplify(Statement& op, Inserter& insert) {
  if (op.op->effect != Effect::kPure || op.results.size() != 1) return nullptr;
  if (std::optional<Attribute> value = fold(op)) {
    return insert.constant(*std::move(value), op.result()->type.dtype);
  }
  if (Value* value = simplify_repeated(op, insert)) return value;
  if (Value* value = simplify_stack(op, insert)) return value;
  Value* value = nullptr;
  if (op.op->is_elementwise && op.operands.size() == 2) {
    order_operands(op);
    const bool is_comparison =
        op.result()->type.dtype == DType::kBool && op.operands[0]->type.dtype != DType::kBool;
    const bool is_bitwise = op.is("and") || op.is("or") || op.is("xor");
    value = is_bitwise      ? simplify_bits(op, insert)
            : is_comparison ? simplify_comparison(op, insert)
                            : simplify_arithmetic(op, insert);
  } else if (op.op->is_elementwise && op.operands.size() == 1) {
    value = simplify_unary(op);
  } else if (op.is("select")) {
    value = simplify_select(op);
  } else {
    value = simplify_shape(op, insert);
  }
  // A scalar can't stand for a tile.
  return value != nullptr && value->type == op.result()->type ? value : nullptr;
}

}  // namespace tilewire

#include "compiler/codegen/cuda/operators.h"

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Whether C++'s own operators compute in this dtype, without promotion to another.
bool has_operators(DType dtype) { return num_bytes(dtype) >= 4 || dtype == DType::kBool; }

}  // namespace

void require_one_layout(const Statement& statement) {
  const Value* first = nullptr;
  const auto check = [&](const Value* value) {
    if (!value->type.is_tile()) return;
    if (first == nullptr) first = value;
    if (value->type.layout == first->type.layout) return;
    throw InternalError(fmt::format("{}: {} and {} meet", statement.op->name,
                                    first->type.to_string(), value->type.to_string()),
                        statement.location);
  };
  for (const Value* value : statement.operands) check(value);
  for (const Value* value : statement.results) check(value);
}

void emit_operator(const Statement& statement, CudaEmitter& emitter, const CudaOperator& op) {
  require_one_layout(statement);
  const Value* result = statement.result();
  const bool is_infix = !op.infix.empty() && result->type.is_scalar() &&
                        has_operators(statement.operands.at(0)->type.dtype);
  if (!is_infix) {
    emitter.include(op.header);
    emitter.define(
        result, emitter.call(op.function, {statement.operands.begin(), statement.operands.end()}));
    return;
  }
  if (statement.operands.size() == 1) {
    emitter.define(
        result,
        fmt::format("{}{}", op.infix, emitter.operand(statement.operands[0], Binding::kUnary)),
        Binding::kUnary);
    return;
  }
  // Operators group from the left: there an operand may bind as loosely as its parent.
  const auto looser = static_cast<Binding>(static_cast<int>(op.binding) + 1);
  emitter.define(result,
                 fmt::format("{} {} {}", emitter.operand(statement.operands[0], looser), op.infix,
                             emitter.operand(statement.operands[1], op.binding)),
                 op.binding);
}

}  // namespace tilewire

#include <fmt/format.h>

#include "compiler/frontend/builder.h"
#include "compiler/support/error.h"

namespace tilewire {

Values Builder::begin_while(const std::vector<Operand>& initial) {
  auto statement = std::make_unique<Statement>();
  statement->kind = StatementKind::kWhile;
  statement->location = location_;
  statement->regions.resize(2);
  for (const Operand& operand : initial) {
    statement->operands.push_back(materialise(operand, common_dtype_of({operand})));
  }
  const Values carried = enter_carried(*statement, statement->regions[0]);
  open_.push_back(Open{std::move(statement), {}, false});
  return carried;
}

Values Builder::begin_do(Value* condition) {
  const bool is_open = !open_.empty() && open_.back().statement->kind == StatementKind::kWhile;
  if (!is_open || open_.back().in_else) fail("begin_do without begin_while");
  if (!condition->type.is_scalar()) {
    fail(
        fmt::format("the condition of a while is {}; it takes a bool scalar: reduce it with tw.max "
                    "or tw.sum",
                    condition->type.to_string()));
  }
  yield({cast(condition, DType::kBool)}, {Type::scalar(DType::kBool)}, "the condition");
  regions_.pop_back();
  open_.back().in_else = true;
  Statement& loop = *open_.back().statement;
  const Values carried = enter_carried(loop, loop.regions[1]);
  for (std::size_t i = 0; i < carried.size(); ++i) {
    carried[i]->name = loop.regions[0].arguments[i]->name;
  }
  return carried;
}

Values Builder::end_while(const std::vector<Operand>& yielded) {
  const bool is_open = !open_.empty() && open_.back().statement->kind == StatementKind::kWhile;
  if (!is_open || !open_.back().in_else) fail("end_while without begin_do");
  return end_loop(StatementKind::kWhile, "end_while", yielded);
}

Values Builder::while_(const std::vector<Operand>& initial, const Condition& condition,
                       const WhileBody& body) {
  Value* goes_on = condition(begin_while(initial));
  const Values carried = begin_do(goes_on);
  return end_while(body(carried));
}

}  // namespace tilewire

#include <fmt/format.h>

#include <map>

#include "compiler/frontend/builder.h"
#include "compiler/ops/op.h"
#include "compiler/ops/report.h"

namespace tilewire {
namespace {

/// How a comparison's operands are shown; empty: it is none.
std::string text_of_comparison(const Value* condition) {
  static const std::map<std::string_view, std::string_view> signs = {
      {"eq", "=="}, {"ne", "!="}, {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}};
  if (condition->definition == nullptr || condition->definition->kind != StatementKind::kOp) {
    return "";
  }
  const auto found = signs.find(condition->definition->op->name);
  return found == signs.end() ? "" : fmt::format("{{}} {} {{}}", found->second);
}

}  // namespace

/// The operands with this rank in front, and the attribute that says so, in a world of several.
void Builder::report(std::string_view op, Values operands, Attributes attributes) {
  if (world_size() > 1) {
    operands.insert(operands.begin(), rank());
    attributes.emplace("ranked", true);
  }
  emit(op, std::move(operands), std::move(attributes));
}

void Builder::print(std::string_view text, const std::vector<Operand>& values, bool all) {
  Values operands;
  for (const Operand& value : values) {
    operands.push_back(materialise(value, common_dtype_of({value})));
  }
  Attributes attributes = {{"text", std::string(text)}};
  if (all) attributes.emplace("all", true);
  report("print", std::move(operands), std::move(attributes));
}

void Builder::assert_(Value* condition, std::string_view message,
                      const std::vector<Operand>& values) {
  Values operands = {condition};
  std::string text;
  for (const Operand& value : values) {
    operands.push_back(materialise(value, common_dtype_of({value})));
    text += text.empty() ? "{}" : ", {}";
  }
  if (values.empty()) {
    text = text_of_comparison(condition);
    if (!text.empty()) {
      for (Value* compared : condition->definition->operands) operands.push_back(compared);
    }
  }
  report("assert", std::move(operands),
         {{"message", std::string(message)}, {"text", std::move(text)}});
}

}  // namespace tilewire

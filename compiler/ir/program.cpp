#include "compiler/ir/program.h"

#include <fmt/format.h>

#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

template <typename T>
const T& attribute_of(const Statement& statement, std::string_view name, std::string_view kind) {
  const auto found = statement.attributes.find(name);
  const T* value = found == statement.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  if (value == nullptr) {
    throw InternalError(fmt::format("{} has no {} attribute '{}'",
                                    statement.op ? statement.op->name : "statement", kind, name),
                        statement.location);
  }
  return *value;
}

void count_uses_in(const Region& region, std::map<const Value*, int>& uses) {
  for_each_statement(region, [&](const Statement& statement) {
    for (const Value* operand : statement.operands) ++uses[operand];
  });
}

}  // namespace

std::string_view name_of(Iterate iterate) {
  switch (iterate) {
    case Iterate::kRange:
      return "range";
    case Iterate::kPersistent:
      return "persistent";
    case Iterate::kRanks:
      return "ranks";
    case Iterate::kPeers:
      return "peers";
  }
  return {};
}

std::string_view name_of(Parameter::Kind kind) {
  return kind == Parameter::Kind::kScalar ? "scalar" : name_of(memory_of(kind));
}

Memory memory_of(Parameter::Kind kind) {
  switch (kind) {
    case Parameter::Kind::kTensor:
    case Parameter::Kind::kScalar:
      return Memory::kTensor;
    case Parameter::Kind::kWindow:
      return Memory::kWindow;
    case Parameter::Kind::kSemaphore:
      return Memory::kSemaphore;
    case Parameter::Kind::kFlag:
      return Memory::kFlag;
    case Parameter::Kind::kChannel:
      return Memory::kChannel;
  }
  return Memory::kTensor;
}

Type type_of(const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kScalar) return Type::scalar(parameter.dtype);
  std::vector<std::int64_t> sizes;
  for (const Dimension& dimension : parameter.shape) sizes.push_back(dimension.size);
  return Type::view(parameter.dtype, std::move(sizes), memory_of(parameter.kind));
}

bool Statement::is(std::string_view op_name) const {
  return kind == StatementKind::kOp && op->name == op_name;
}

bool Statement::branches_on(std::string_view op_name) const {
  if (kind != StatementKind::kIf) return false;
  const Statement* asked = operands.at(0)->definition;
  return asked != nullptr && asked->is(op_name);
}

std::int64_t Statement::integer(std::string_view name) const {
  return attribute_of<std::int64_t>(*this, name, "integer");
}

bool Statement::flag(std::string_view name) const {
  return has(name) && attribute_of<bool>(*this, name, "bool");
}

const std::string& Statement::text(std::string_view name) const {
  return attribute_of<std::string>(*this, name, "text");
}

DType Statement::dtype(std::string_view name) const {
  return attribute_of<DType>(*this, name, "dtype");
}

const std::vector<std::int64_t>& Statement::integers(std::string_view name) const {
  return attribute_of<std::vector<std::int64_t>>(*this, name, "integer list");
}

Iterate Statement::iterate() const {
  const std::string& spelled = text("iterate");
  for (const Iterate each :
       {Iterate::kRange, Iterate::kPersistent, Iterate::kRanks, Iterate::kPeers}) {
    if (name_of(each) == spelled) return each;
  }
  throw InternalError(fmt::format("a loop iterates by '{}'", spelled), location);
}

Value* Program::new_value(Type type, std::string name) {
  values_.push_back(
      std::make_unique<Value>(Value{std::move(type), std::move(name), nullptr, values_.size()}));
  return values_.back().get();
}

std::unique_ptr<Statement> Program::new_op(std::string_view op, std::vector<Value*> operands,
                                           Attributes attributes, SourceLocation location) {
  auto statement = std::make_unique<Statement>();
  statement->op = &find_op(op);
  statement->operands = std::move(operands);
  statement->attributes = std::move(attributes);
  statement->location = std::move(location);
  std::vector<Type> operand_types;
  for (const Value* operand : statement->operands) operand_types.push_back(operand->type);
  const OpCall call{*statement->op, operand_types, statement->attributes, statement->location};
  for (Type& type : infer_types(call)) {
    Value* result = new_value(std::move(type));
    result->definition = statement.get();
    statement->results.push_back(result);
  }
  return statement;
}

std::map<const Value*, int> count_uses(const Region& region) {
  std::map<const Value*, int> uses;
  count_uses_in(region, uses);
  return uses;
}

}  // namespace tilewire

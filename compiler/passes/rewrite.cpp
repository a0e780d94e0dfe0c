#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

Value* clone_value(Program& program, const Value* value, Replacements& mapping) {
  Value* copy = program.new_value(value->type, value->name);
  mapping.replace(value, copy);
  return copy;
}

}  // namespace

Value* Replacements::resolve(Value* value) const {
  for (auto found = by_.find(value); found != by_.end(); found = by_.find(value)) {
    value = found->second;
  }
  return value;
}

void Replacements::resolve_all(std::vector<Value*>& values) const {
  for (Value*& value : values) value = resolve(value);
}

Statement& Inserter::append(std::unique_ptr<Statement> statement) {
  into_.push_back(std::move(statement));
  return *into_.back();
}

Value* Inserter::op(std::string_view name, std::vector<Value*> operands, Attributes attributes) {
  return append(program_.new_op(name, std::move(operands), std::move(attributes), location_))
      .result();
}

namespace {

/// Whether both are one value, or equal constants.
bool are_equal(const Value* a, const Value* b) {
  std::int64_t constant = 0;
  std::int64_t other = 0;
  return a == b || (is_integer_constant(a, constant) && is_integer_constant(b, other) &&
                    constant == other && a->type == b->type);
}

}  // namespace

Value* Inserter::op_or_equal(std::string_view name, const std::vector<Value*>& operands) {
  constexpr int kMostLookedAt = 32;
  int looked_at = 0;
  for (auto each = into_.rbegin(); each != into_.rend() && looked_at < kMostLookedAt; ++each) {
    ++looked_at;
    const Statement& statement = **each;
    if (statement.is(name) && statement.attributes.empty() &&
        std::ranges::equal(statement.operands, operands, are_equal)) {
      return statement.result();
    }
  }
  return op(name, operands);
}

Value* Inserter::constant(std::int64_t value) { return constant(Attribute(value), kIndex); }

Value* Inserter::constant(Attribute value, DType dtype) {
  return op("constant", {}, {{"dtype", dtype}, {"value", std::move(value)}});
}

Statements clone_statements(Program& program, const Region& region, Replacements& mapping) {
  Statements copies;
  for (const auto& statement : region.statements) {
    auto copy = std::make_unique<Statement>();
    copy->kind = statement->kind;
    copy->op = statement->op;
    copy->operands = statement->operands;
    mapping.resolve_all(copy->operands);
    copy->attributes = statement->attributes;
    copy->location = statement->location;
    for (const Region& inner : statement->regions) {
      Region& inner_copy = copy->regions.emplace_back();
      for (const Value* argument : inner.arguments) {
        inner_copy.arguments.push_back(clone_value(program, argument, mapping));
      }
      inner_copy.statements = clone_statements(program, inner, mapping);
    }
    for (const Value* result : statement->results) {
      copy->results.push_back(clone_value(program, result, mapping));
      copy->results.back()->definition = copy.get();
    }
    copies.push_back(std::move(copy));
  }
  return copies;
}

std::unique_ptr<Statement> new_structure(StatementKind kind, SourceLocation location) {
  auto statement = std::make_unique<Statement>();
  statement->kind = kind;
  statement->location = std::move(location);
  return statement;
}

const Attribute* constant_value(const Value* value) {
  const Statement* definition = value->definition;
  if (definition == nullptr || !definition->is("constant")) return nullptr;
  return &definition->attributes.find("value")->second;
}

bool is_integer_constant(const Value* value, std::int64_t& result) {
  const Attribute* constant = constant_value(value);
  const auto* integer = constant == nullptr ? nullptr : std::get_if<std::int64_t>(constant);
  if (integer != nullptr) result = *integer;
  return integer != nullptr;
}

}  // namespace tilewire

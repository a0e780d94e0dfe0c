#include "compiler/ir/names.h"

#include <algorithm>

#include "compiler/ops/op.h"

namespace tilewire {
namespace {

std::string to_identifier(std::string_view hint) {
  std::string name;
  for (const char character : hint) name += continues_identifier(character) ? character : '_';
  if (name.empty() || !starts_identifier(name.front())) name.insert(name.begin(), '_');
  return name;
}

/// `acc_12` → `acc`: so that a second `acc_12` becomes `acc_13` and not `acc_12_1`.
std::string without_suffix(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size() || end < 2 || name[end - 1] != '_') return name;
  return name.substr(0, end - 1);
}

/// What a result without a name is called: `c8` for a constant 8, else the op's name.
std::string default_name(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kOp:
      break;
    case StatementKind::kFor:
    case StatementKind::kWhile:
      return "carried";
    case StatementKind::kIf:
      return "chosen";
    case StatementKind::kYield:
    case StatementKind::kReturn:
      return "value";
  }
  if (!statement.is("constant")) return std::string(statement.op->name);
  const auto value = statement.attributes.find("value");
  if (value == statement.attributes.end()) return "c";
  if (const auto* integer = std::get_if<std::int64_t>(&value->second)) {
    return *integer < 0 ? "c_minus" + std::to_string(*integer).substr(1)
                        : "c" + std::to_string(*integer);
  }
  if (const auto* flag = std::get_if<bool>(&value->second)) return *flag ? "c_true" : "c_false";
  return "c";
}

}  // namespace

bool starts_identifier(char character) {
  return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
         character == '_' || (static_cast<unsigned char>(character) & 0x80U) != 0;
}

bool continues_identifier(char character) {
  return starts_identifier(character) || (character >= '0' && character <= '9');
}

bool is_identifier(std::string_view text) {
  return !text.empty() && starts_identifier(text.front()) &&
         std::all_of(text.begin(), text.end(), continues_identifier);
}

ValueNames::ValueNames(const Program& program) {
  for (const Parameter& parameter : program.parameters) add(parameter.value, parameter.name);
  for (const auto& [name, value] : program.dimensions) add(value, name);
  add_region(program.body);
}

std::string_view ValueNames::of(const Value* value) const {
  const auto found = names_.find(value);
  return found == names_.end() ? std::string_view("?") : std::string_view(found->second);
}

void ValueNames::add(const Value* value, std::string_view hint) {
  if (value == nullptr || names_.contains(value)) return;
  std::string name = to_identifier(hint);
  if (taken_.contains(name)) {
    const std::string base = without_suffix(name);
    int& suffix = next_suffix_[base];
    do {
      name = base + "_" + std::to_string(++suffix);
    } while (taken_.contains(name));
  }
  taken_.insert(name);
  names_.emplace(value, std::move(name));
}

void ValueNames::add_region(const Region& region) {
  for (const auto& statement : region.statements) {
    for (const Value* result : statement->results) {
      add(result, result->name.empty() ? default_name(*statement) : result->name);
    }
    for (const Region& inner : statement->regions) {
      for (const Value* argument : inner.arguments) {
        const bool is_index =
            statement->kind == StatementKind::kFor && argument == inner.arguments.front();
        add(argument, !argument->name.empty() ? argument->name : is_index ? "i" : "carried");
      }
      add_region(inner);
    }
  }
}

}  // namespace tilewire

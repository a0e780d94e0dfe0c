#include <fmt/format.h>

#include <unordered_set>
#include <utility>

#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

Type without_layout(Type type) {
  type.layout = {};
  return type;
}

std::string_view name_of(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kOp:
      return statement.op == nullptr ? "op" : statement.op->name;
    case StatementKind::kFor:
      return "for";
    case StatementKind::kWhile:
      return "while";
    case StatementKind::kIf:
      return "if";
    case StatementKind::kYield:
      return "yield";
    case StatementKind::kReturn:
      return "return";
  }
  return "?";
}

class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program) {}

  void verify() {
    verify_signature();
    for (const Value* argument : program_.body.arguments) define(argument, nullptr, nullptr);
    for (const auto& statement : program_.body.statements) {
      if (statement->kind == StatementKind::kYield) {
        fail(statement.get(), "it stands outside of `for`, `while` and `if`");
      }
      verify_statement(*statement);
    }
  }

 private:
  [[noreturn]] void fail(const Statement* at, const std::string& reason) const {
    if (at == nullptr) {
      throw InternalError(fmt::format("invalid IR: program @{}: {}", program_.name, reason));
    }
    throw InternalError(fmt::format("invalid IR: {}: {}", name_of(*at), reason), at->location);
  }

  void check(bool holds, const Statement* at, std::string_view reason) const {
    if (!holds) fail(at, std::string(reason));
  }

  void verify_signature();
  void verify_parameter(const Parameter& parameter);
  void verify_statement(const Statement& statement);
  void verify_op(const Statement& statement);
  void verify_for(const Statement& statement);
  void verify_while(const Statement& statement);
  void verify_carried(const Statement& loop, const Region& region);
  void verify_if(const Statement& statement);
  void verify_region(const Statement& owner, const Region& region, const std::vector<Type>& yields);
  std::vector<Type> result_types(const Statement& statement) const;

  void define(const Value* value, const Statement* at, const Statement* definition) {
    check(value != nullptr, at, "a value is missing");
    check(defined_.insert(value).second, at, fmt::format("`{}` is defined twice", value->name));
    visible_.insert(value);
    scope_.push_back(value);
    check(value->definition == definition, at,
          fmt::format("`{}` doesn't point to its definition", value->name));
  }

  const Program& program_;
  std::unordered_set<const Value*> defined_;
  std::unordered_set<const Value*> visible_;
  std::vector<const Value*> scope_;  ///< what is visible, in order of definition
};

void Verifier::verify_signature() {
  check(program_.world_size >= 1 && program_.lsa_size >= 1 &&
            program_.world_size % program_.lsa_size == 0,
        nullptr,
        fmt::format("lsa {} doesn't divide world {}", program_.lsa_size, program_.world_size));
  const std::size_t num_parameters = program_.parameters.size();
  const std::size_t num_arguments = num_parameters + program_.dimensions.size();
  check(program_.body.arguments.size() == num_arguments, nullptr,
        "the body's arguments aren't the parameters and dimensions");
  std::unordered_set<std::string> names;
  for (std::size_t i = 0; i < num_arguments; ++i) {
    const bool is_parameter = i < num_parameters;
    const std::string& name =
        is_parameter ? program_.parameters[i].name : program_.dimensions[i - num_parameters].first;
    const Value* value = is_parameter ? program_.parameters[i].value
                                      : program_.dimensions[i - num_parameters].second;
    check(names.insert(name).second, nullptr, fmt::format("`{}` is declared twice", name));
    check(value != nullptr && program_.body.arguments[i] == value, nullptr,
          fmt::format("`{}` isn't argument {} of the body", name, i));
  }
  for (const Parameter& parameter : program_.parameters) verify_parameter(parameter);
  for (const auto& [name, value] : program_.dimensions) {
    check(value->type == Type::scalar(kIndex), nullptr,
          fmt::format("dimension `{}` has type {}", name, value->type.to_string()));
  }
  for (const auto& fact_size : {program_.facts.contiguous.size(), program_.facts.alignment.size(),
                                program_.facts.local_only.size(), program_.facts.mappable.size()}) {
    check(fact_size == 0 || fact_size == num_parameters, nullptr,
          "facts must be known for all parameters or for none");
  }
  for (const auto& [index, number] : program_.useful_grid) {
    check(number > 0, nullptr, fmt::format("a grid of {}", number));
    if (index == GridBound::kNone) continue;
    check(index >= 0 && static_cast<std::size_t>(index) < program_.dimensions.size(), nullptr,
          fmt::format("there is no dimension {}", index));
  }
}

void Verifier::verify_parameter(const Parameter& parameter) {
  for (const Dimension& dimension : parameter.shape) {
    check(!parameter.is_object() || dimension.size > 0, nullptr,
          fmt::format("`{}`: the extents of a {} are numbers above 0", parameter.name,
                      tilewire::name_of(parameter.kind)));
    if (dimension.size != kDynamic) {
      check(dimension.size >= 0 && dimension.name.empty(), nullptr,
            fmt::format("`{}` has a bad extent {}", parameter.name, dimension.size));
      continue;
    }
    bool is_known = false;
    for (const auto& known : program_.dimensions) is_known |= known.first == dimension.name;
    check(is_known, nullptr,
          fmt::format("`{}` has extent `{}`, which is no dimension of the program", parameter.name,
                      dimension.name));
  }
  if (parameter.is_object()) {
    check(parameter.dtype == object_dtype(memory_of(parameter.kind)) && !parameter.shape.empty(),
          nullptr, fmt::format("`{}` is no array of objects", parameter.name));
  }
  if (parameter.kind == Parameter::Kind::kChannel) {
    const std::string refusal = refusal_of(parameter.channel);
    check(refusal.empty(), nullptr, fmt::format("`{}`: {}", parameter.name, refusal));
  }
  check(parameter.rotate == 0 || (parameter.rotate > 1 && parameter.rotate <= kMaxRotation &&
                                  parameter.kind == Parameter::Kind::kWindow),
        nullptr, fmt::format("`{}` can't rotate over {} copies", parameter.name, parameter.rotate));
  const Type type = type_of(parameter);
  check(parameter.value->type == type, nullptr,
        fmt::format("`{}` has type {}, but is declared {}", parameter.name,
                    parameter.value->type.to_string(), type.to_string()));
}

void Verifier::verify_statement(const Statement& statement) {
  for (std::size_t i = 0; i < statement.operands.size(); ++i) {
    const Value* operand = statement.operands[i];
    check(operand != nullptr, &statement, fmt::format("operand {} is missing", i));
    check(visible_.contains(operand), &statement,
          defined_.contains(operand)
              ? fmt::format("operand {} (`{}`) is used outside of its region", i, operand->name)
              : fmt::format("operand {} (`{}`) is used before its definition", i, operand->name));
  }
  switch (statement.kind) {
    case StatementKind::kOp:
      verify_op(statement);
      break;
    case StatementKind::kFor:
      verify_for(statement);
      break;
    case StatementKind::kWhile:
      verify_while(statement);
      break;
    case StatementKind::kIf:
      verify_if(statement);
      break;
    case StatementKind::kYield:
    case StatementKind::kReturn:
      check(statement.regions.empty() && statement.results.empty() && statement.attributes.empty(),
            &statement, "it has no regions, results or attributes");
      check(statement.kind == StatementKind::kYield || statement.operands.empty(), &statement,
            "it has no operands");
      break;
  }
  for (const Value* result : statement.results) define(result, &statement, &statement);
}

void Verifier::verify_op(const Statement& statement) {
  check(statement.op != nullptr, &statement, "it names no op of the table");
  check(statement.regions.empty(), &statement, "an op has no regions");
  std::vector<Type> operands;
  for (const Value* operand : statement.operands) operands.push_back(without_layout(operand->type));
  std::vector<Type> types;
  try {
    types = infer_types({*statement.op, operands, statement.attributes, statement.location});
  } catch (const UserError& error) {
    throw InternalError("invalid IR: " + error.message(), statement.location);
  }
  check(types.size() == statement.results.size(), &statement,
        fmt::format("it gives {} results, not {}", types.size(), statement.results.size()));
  for (std::size_t i = 0; i < types.size(); ++i) {
    check(statement.results[i] != nullptr, &statement, fmt::format("result {} is missing", i));
    const Type& type = statement.results[i]->type;
    check(without_layout(type) == without_layout(types[i]), &statement,
          fmt::format("result {} has type {}, but must have {}", i, type.to_string(),
                      types[i].to_string()));
  }
}

void Verifier::verify_for(const Statement& statement) {
  check(statement.op == nullptr, &statement, "it names an op");
  check(statement.operands.size() >= 3, &statement, "lower bound, upper bound or step is missing");
  for (std::size_t i = 0; i < 3; ++i) {
    check(statement.operands[i]->type == Type::scalar(kIndex), &statement,
          fmt::format("operand {} has type {}, but must have {}", i,
                      statement.operands[i]->type.to_string(), Type::scalar(kIndex).to_string()));
  }
  const auto iterate = statement.attributes.find("iterate");
  const std::string* word =
      iterate == statement.attributes.end() ? nullptr : std::get_if<std::string>(&iterate->second);
  check(word != nullptr && (*word == tilewire::name_of(Iterate::kRange) ||
                            *word == tilewire::name_of(Iterate::kPersistent) ||
                            *word == tilewire::name_of(Iterate::kRanks) ||
                            *word == tilewire::name_of(Iterate::kPeers)),
        &statement, "attribute `iterate` must be range, persistent, ranks or peers");
  check(statement.regions.size() == 1, &statement, "it has one region");
  const Region& body = statement.regions[0];
  verify_carried(statement, body);
  check(body.arguments[0] != nullptr && body.arguments[0]->type == Type::scalar(kIndex), &statement,
        "the index has type i64");
  verify_region(statement, body, result_types(statement));
}

void Verifier::verify_while(const Statement& statement) {
  check(statement.op == nullptr, &statement, "it names an op");
  check(statement.regions.size() == 2, &statement, "it has two regions");
  for (const Region& region : statement.regions) verify_carried(statement, region);
  verify_region(statement, statement.regions[0], {Type::scalar(DType::kBool)});
  verify_region(statement, statement.regions[1], result_types(statement));
}

/// Initial values, results and a region's arguments agree.
void Verifier::verify_carried(const Statement& loop, const Region& region) {
  const std::size_t num_bounds = loop.num_bounds();
  const std::size_t num_carried = loop.operands.size() - num_bounds;
  const std::size_t num_before = num_bounds == 0 ? 0 : 1;  // the index
  check(region.arguments.size() == num_carried + num_before, &loop,
        fmt::format("the region has {} arguments, but must have {}", region.arguments.size(),
                    num_carried + num_before));
  check(loop.results.size() == num_carried, &loop,
        fmt::format("it carries {} values, but has {} results", num_carried, loop.results.size()));
  for (std::size_t i = 0; i < num_carried; ++i) {
    const Type& type = loop.operands[i + num_bounds]->type;
    const Value* argument = region.arguments[i + num_before];
    check(argument != nullptr && argument->type == type, &loop,
          fmt::format("carried value {} is of another type inside the region", i));
    check(loop.results[i] != nullptr && loop.results[i]->type == type, &loop,
          fmt::format("carried value {} is of another type after the loop", i));
  }
}

std::vector<Type> Verifier::result_types(const Statement& statement) const {
  std::vector<Type> types;
  for (const Value* result : statement.results) {
    check(result != nullptr, &statement, "a result is missing");
    types.push_back(result->type);
  }
  return types;
}

void Verifier::verify_if(const Statement& statement) {
  check(statement.op == nullptr, &statement, "it names an op");
  check(statement.operands.size() == 1 && statement.operands[0]->type == Type::scalar(DType::kBool),
        &statement, "it takes one bool scalar");
  check(statement.regions.size() == 2, &statement, "it has two regions");
  for (const Region& region : statement.regions) {
    check(region.arguments.empty(), &statement, "its regions have no arguments");
    verify_region(statement, region, result_types(statement));
  }
}

/// `yields`: the types that it must hand out. Values defined inside are out of sight afterwards.
void Verifier::verify_region(const Statement& owner, const Region& region,
                             const std::vector<Type>& yields) {
  const std::size_t num_visible_outside = scope_.size();
  for (const Value* argument : region.arguments) define(argument, &owner, nullptr);
  check(!region.statements.empty() && region.statements.back()->kind == StatementKind::kYield,
        &owner, "a region must end with yield");
  for (const auto& statement : region.statements) {
    check(statement->kind != StatementKind::kYield || statement == region.statements.back(),
          statement.get(), "it must be the region's last statement");
    verify_statement(*statement);
  }
  const Statement& yield = *region.statements.back();
  check(yield.operands.size() == yields.size(), &yield,
        fmt::format("it hands out {} values, but {} are expected", yield.operands.size(),
                    yields.size()));
  for (std::size_t i = 0; i < yield.operands.size(); ++i) {
    check(yield.operands[i]->type == yields[i], &yield,
          fmt::format("value {} has type {}, but {} is expected", i,
                      yield.operands[i]->type.to_string(), yields[i].to_string()));
  }
  while (scope_.size() > num_visible_outside) {
    visible_.erase(scope_.back());
    scope_.pop_back();
  }
}

}  // namespace

void verify(const Program& program) { Verifier(program).verify(); }

}  // namespace tilewire

#include "compiler/frontend/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compiler/ir/float_format.h"
#include "compiler/ir/number_range.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

std::string literal_to_string(const Operand& literal) {
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&literal)) return fmt::format("{}", *number);
  return std::get<bool>(literal) ? "True" : "False";
}

double to_double(const Operand& literal) {
  if (const auto* integer = std::get_if<std::int64_t>(&literal)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&literal)) return *number;
  return std::get<bool>(literal) ? 1.0 : 0.0;
}

}  // namespace

Builder::Builder(std::string name, std::string source_file, const Target& target) {
  program_.name = std::move(name);
  program_.source_file = std::move(source_file);
  program_.world_size = target.world_size;
  program_.lsa_size = target.lsa_size;
  location_.file = program_.source_file;
  regions_.push_back(&program_.body);
}

void Builder::set_location(int line, int column) {
  location_ = SourceLocation{program_.source_file, line, column};
}

void Builder::set_location(SourceLocation location) { location_ = std::move(location); }

void Builder::fail(const std::string& message) const { throw UserError(message, location_); }

Value* Builder::name(Value* value, std::string_view user_name) {
  if (value->name.empty()) value->name = user_name;
  return value;
}

Value* Builder::parameter(Parameter::Kind kind, std::string name, DType dtype,
                          std::vector<Dimension> shape) {
  for (const Parameter& other : program_.parameters) {
    if (other.name == name) fail(fmt::format("two parameters are named '{}'", name));
  }
  for (Dimension& dimension : shape) {
    for (const auto& [constant, value] : program_.constants) {
      const auto* size = std::get_if<std::int64_t>(&value);
      if (dimension.size == kDynamic && constant == dimension.name && size != nullptr) {
        dimension = Dimension{*size, {}};
      }
    }
    if (dimension.size == kDynamic && dimension.name.empty()) {
      fail(fmt::format("an extent of '{}' has neither a size nor a name", name));
    }
    if (dimension.size < 0 && dimension.size != kDynamic) {
      fail(fmt::format("an extent of '{}' is {}", name, dimension.size));
    }
  }
  if (kind != Parameter::Kind::kScalar && (shape.empty() || shape.size() > 8)) {
    fail(fmt::format("'{}' has rank {}; tensors and windows have rank 1 to 8", name, shape.size()));
  }
  Parameter made;
  made.name = name;
  made.kind = kind;
  made.dtype = dtype;
  made.shape = shape;
  Value* value = made.value = program_.new_value(type_of(made), std::move(name));
  for (const Dimension& dimension : shape) {
    const auto has_name = [&](const auto& known) { return known.first == dimension.name; };
    const auto& known = program_.dimensions;
    if (dimension.size != kDynamic || std::any_of(known.begin(), known.end(), has_name)) continue;
    program_.dimensions.emplace_back(dimension.name,
                                     program_.new_value(Type::scalar(kIndex), dimension.name));
  }
  program_.parameters.push_back(std::move(made));
  return value;
}

Value* Builder::tensor(std::string name, DType dtype, std::vector<Dimension> shape,
                       bool is_constant) {
  Value* value = parameter(Parameter::Kind::kTensor, std::move(name), dtype, std::move(shape));
  program_.parameters.back().is_constant = is_constant;
  return value;
}

Value* Builder::window(std::string name, DType dtype, std::vector<Dimension> shape,
                       std::int64_t rotate) {
  if (rotate != 0 && (rotate < 2 || rotate > kMaxRotation)) {
    fail(fmt::format("'{}' rotates over {} copies; 2 to {} can take turns", name, rotate,
                     kMaxRotation));
  }
  Value* value = parameter(Parameter::Kind::kWindow, std::move(name), dtype, std::move(shape));
  program_.parameters.back().rotate = rotate;
  return value;
}

Value* Builder::scalar(std::string name, DType dtype) {
  return parameter(Parameter::Kind::kScalar, std::move(name), dtype, {});
}

Value* Builder::dimension(std::string_view name) {
  for (const auto& [known, value] : program_.dimensions) {
    if (known == name) return value;
  }
  fail(fmt::format("no parameter has a run-time dimension '{}'", name));
}

void Builder::constant_parameter(std::string name, Attribute value) {
  program_.constants.emplace_back(std::move(name), std::move(value));
}

std::int64_t Builder::world_size() const { return program_.world_size; }
std::int64_t Builder::lsa_size() const { return program_.lsa_size; }

Value* Builder::constant(Operand literal, DType dtype) {
  if (std::holds_alternative<Value*>(literal)) fail("constant() takes a number, not a value");
  Attribute value;
  if (is_float(dtype)) {
    const double number = to_double(literal);
    const double in_f32 = static_cast<double>(static_cast<float>(number));
    const double kept = dtype == DType::kF64 ? number : in_f32;  // what f32 rounds down to fits it
    if (std::isfinite(number) && !(std::fabs(kept) <= format_of(dtype).largest)) {
      fail(fmt::format("{} doesn't fit {}, whose largest number is {}: cast to a wider dtype first",
                       literal_to_string(literal), name_of(dtype), format_of(dtype).largest));
    }
    value = number;
  } else if (dtype == DType::kBool) {
    value = to_double(literal) != 0.0;
  } else {
    const double number = to_double(literal);
    const bool is_whole = std::trunc(number) == number && std::fabs(number) < 0x1p63;
    const std::int64_t integer = std::holds_alternative<std::int64_t>(literal)
                                     ? std::get<std::int64_t>(literal)
                                     : (is_whole ? static_cast<std::int64_t>(number) : 0);
    if (!is_whole && !std::holds_alternative<std::int64_t>(literal)) {
      fail(fmt::format("{} is not a value of {}", literal_to_string(literal), name_of(dtype)));
    }
    if (!holds(dtype, integer)) {
      const IntegerRange range = range_of(dtype);
      fail(fmt::format("{} doesn't fit {}, which holds {} to {}: cast to a wider dtype first",
                       literal_to_string(literal), name_of(dtype), range.least, range.largest));
    }
    value = integer;
  }
  return emit("constant", {}, {{"value", value}, {"dtype", dtype}})->result();
}

Value* Builder::materialise(const Operand& operand, DType dtype) {
  if (auto* const* value = std::get_if<Value*>(&operand)) return *value;
  return constant(operand, dtype);
}

Value* Builder::program_id(int axis) {
  if (axis == 0 && !instances_.empty()) return instances_.back().id;
  return emit("program_id", {}, {{"axis", std::int64_t{axis}}})->result();
}

Value* Builder::num_programs(int axis) {
  if (axis == 0 && !instances_.empty()) return instances_.back().count;
  return emit("num_programs", {}, {{"axis", std::int64_t{axis}}})->result();
}

Value* Builder::rank(std::string_view team) {
  return emit("rank", {}, {{"team", std::string(team)}})->result();
}

std::int64_t Builder::team_size(std::string_view team) const {
  if (team == "world") return program_.world_size;
  if (team == "lsa") return program_.lsa_size;
  if (team == "rail") return program_.world_size / program_.lsa_size;
  if (team == "local") return 1;
  fail(fmt::format("there is no team '{}': world, lsa, rail, local", team));
}

Value* Builder::is_lsa(Operand rank) {
  if (const auto* literal = std::get_if<std::int64_t>(&rank)) {
    if (*literal < 0 || *literal >= world_size()) {
      fail(fmt::format("there is no rank {} in a world of {}", *literal, world_size()));
    }
  }
  return emit("is_lsa", {to_index(rank, "a rank")})->result();
}

void Builder::barrier(std::string_view team, std::string_view scope, std::string_view order) {
  if (scope == "grid" && !instances_.empty()) {
    fail(
        "barrier: scope=\"grid\" waits for all instances, and only those of this tw.instances(…) "
        "come here; put it before or behind the `with`");
  }
  for (const Open& open : open_) {
    if (!open.counter) continue;
    if (scope == "grid") {
      fail(
          "barrier: inside a loop with schedule=\"dynamic\", instances take different numbers of "
          "turns, and a barrier of all of them is never reached by all; put it before or behind "
          "the loop, or use schedule=\"static\"");
    }
    fail(
        "barrier: inside a loop with schedule=\"dynamic\", instances of one program id take "
        "different numbers of turns on each rank and never meet; put the barrier before or behind "
        "the loop, or use schedule=\"static\"");
  }
  emit("barrier", {},
       {{"team", std::string(team)}, {"scope", std::string(scope)}, {"order", std::string(order)}});
}

void Builder::append(std::unique_ptr<Statement> statement) {
  regions_.back()->statements.push_back(std::move(statement));
}

Statement* Builder::emit(std::string_view op, Values operands, Attributes attributes) {
  auto statement = program_.new_op(op, std::move(operands), std::move(attributes), location_);
  Statement* emitted = statement.get();
  append(std::move(statement));
  return emitted;
}

Program Builder::finish() {
  if (!open_.empty()) fail("finish() inside an open for or if");
  for (const Parameter& parameter : program_.parameters) {
    program_.body.arguments.push_back(parameter.value);
    program_.facts.contiguous.push_back(parameter.kind == Parameter::Kind::kWindow);
    program_.facts.alignment.push_back(
        parameter.kind == Parameter::Kind::kWindow ? 16 : num_bytes(parameter.dtype));
  }
  for (const auto& [name, value] : program_.dimensions) program_.body.arguments.push_back(value);
  verify(program_);
  return std::move(program_);
}

}  // namespace tilewire

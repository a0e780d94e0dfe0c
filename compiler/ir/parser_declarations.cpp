// What stands in front of a program's body: its head, parameters, dimensions and constants.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "compiler/ir/program_parser.h"

namespace tilewire {

void ProgramParser::header() {
  keyword("program");
  expect('@');
  program_.name = identifier("the program's name");
  keyword("from");
  program_.source_file = take(Token::Kind::kString, "the source file as a string").text;
  keyword("world");
  program_.world_size = small_integer();
  keyword("lsa");
  program_.lsa_size = small_integer();
  if (accept("cluster")) program_.cluster_size = integer();
  if (accept("threads")) program_.num_threads = small_integer();
  if (accept("grid")) {
    expect('[');
    do {
      grid_bound();
    } while (accept(','));
    expect(']');
  }
  if (accept("most")) program_.max_grid = integer();
  expect('{');
}

/// A dimension's name is looked up after all are declared.
void ProgramParser::grid_bound() {
  GridBound bound;
  grid_.push_back(token());
  if (token().kind == Token::Kind::kInteger) {
    bound.number = integer();
  } else {
    identifier("a dimension's name or a number");
    bound.dimension = 0;
    if (accept("by")) bound.number = integer();
  }
  program_.useful_grid.push_back(bound);
}

void ProgramParser::declaration() {
  if (accept("const")) {
    std::string name = identifier("the constant's name");
    expect('=');
    program_.constants.emplace_back(std::move(name), attribute());
  } else if (accept("tensor")) {
    parameter(Parameter::Kind::kTensor);
  } else if (accept("constant")) {
    parameter(Parameter::Kind::kTensor);
    program_.parameters.back().is_constant = true;
  } else if (accept("window")) {
    parameter(Parameter::Kind::kWindow);
  } else if (accept("scalar")) {
    parameter(Parameter::Kind::kScalar);
  } else if (accept("semaphore")) {
    parameter(Parameter::Kind::kSemaphore);
  } else if (accept("flag")) {
    parameter(Parameter::Kind::kFlag);
  } else if (accept("channel")) {
    parameter(Parameter::Kind::kChannel);
  } else if (accept("dimension")) {
    const Token name = take(Token::Kind::kValue, "the dimension as `%NAME`");
    program_.dimensions.emplace_back(name.text, define(name, Type::scalar(kIndex), nullptr));
  } else {
    fail(
        "`const`, `tensor`, `constant`, `window`, `scalar`, `semaphore`, `flag`, `channel`, "
        "`dimension` or `}`");
  }
}

void ProgramParser::parameter(Parameter::Kind kind) {
  const Token name = take(Token::Kind::kValue, "the parameter as `%NAME`");
  expect(':');
  Parameter parameter;
  parameter.name = name.text;
  parameter.kind = kind;
  parameter.dtype = parameter.is_object() ? object_dtype(memory_of(kind)) : dtype();
  if (kind != Parameter::Kind::kScalar) parameter.shape = extents();
  parameter.value = define(name, type_of(parameter), nullptr);
  program_.parameters.push_back(std::move(parameter));
  attributes_of_parameter();
}

std::vector<Dimension> ProgramParser::extents() {
  std::vector<Dimension> result;
  expect('[');
  if (accept(']')) return result;
  do {
    Dimension dimension;
    if (token().kind == Token::Kind::kInteger) {
      dimension.size = integer();
    } else {
      dimension.name = identifier("an extent or a dimension's name");
    }
    result.push_back(std::move(dimension));
  } while (accept(','));
  expect(']');
  return result;
}

void ProgramParser::attributes_of_parameter() {
  const Token start = token();
  const Attributes known = attributes();
  Parameter& parameter = program_.parameters.back();
  if (parameter.is_object()) return channel(known, start);
  for (const auto& [name, value] : known) {
    const auto* copies = std::get_if<std::int64_t>(&value);
    if (copies != nullptr && name == "rotate" && parameter.kind == Parameter::Kind::kWindow) {
      parameter.rotate = *copies;
    } else if (!fact(name, value)) {
      fail_at(start, fmt::format("`{} = {}` is no fact about a parameter; those are "
                                 "`contiguous = true`, `alignment = 16`, `local_only = true` and "
                                 "`mappable = true`",
                                 name, to_string(value)));
    }
  }
}

/// What a channel carries; other objects have nothing to say.
void ProgramParser::channel(const Attributes& known, const Token& at) {
  Parameter& parameter = program_.parameters.back();
  if (parameter.kind != Parameter::Kind::kChannel) {
    if (!known.empty()) fail_at(at, fmt::format("a {} has no attributes", name_of(parameter.kind)));
    return;
  }
  const auto find = [&]<typename T>(std::string_view name) -> const T* {
    const auto found = known.find(name);
    return found == known.end() ? nullptr : std::get_if<T>(&found->second);
  };
  const auto* message = find.operator()<std::string>("message");
  const auto* depth = find.operator()<std::int64_t>("depth");
  const auto* carrying = find.operator()<std::string>("carrying");
  const auto fields = message == nullptr ? std::nullopt : parse_message(*message);
  const auto kind = carrying == nullptr ? std::nullopt : carrying_from_name(*carrying);
  if (!fields || depth == nullptr || !kind || known.size() != 3) {
    fail_at(at,
            "a channel says what it carries, like {carrying = \"tagged\", depth = 2, message = "
            "\"bf16[2048], f32\"}; it is carried \"tagged\", \"exchange\" or \"reserved\"");
  }
  parameter.channel = {*fields, *depth, *kind};
}

/// False where it is none.
bool ProgramParser::fact(std::string_view name, const Attribute& value) {
  const std::size_t index = program_.parameters.size() - 1;
  if (const bool* flag = std::get_if<bool>(&value); flag && name == "contiguous") {
    program_.facts.contiguous.resize(index + 1);
    program_.facts.contiguous[index] = *flag;
  } else if (flag && name == "local_only") {
    program_.facts.local_only.resize(index + 1);
    program_.facts.local_only[index] = *flag;
  } else if (flag && name == "mappable") {
    program_.facts.mappable.resize(index + 1);
    program_.facts.mappable[index] = *flag;
  } else if (const auto* bytes = std::get_if<std::int64_t>(&value);
             bytes && name == "alignment" && *bytes > 0 && *bytes <= (1 << 20)) {
    program_.facts.alignment.resize(index + 1, 1);
    program_.facts.alignment[index] = static_cast<int>(*bytes);
  } else {
    return false;
  }
  return true;
}

void ProgramParser::finish_declarations() {
  const std::size_t num_parameters = program_.parameters.size();
  if (!program_.facts.contiguous.empty()) program_.facts.contiguous.resize(num_parameters);
  if (!program_.facts.alignment.empty()) program_.facts.alignment.resize(num_parameters, 1);
  if (!program_.facts.local_only.empty()) program_.facts.local_only.resize(num_parameters);
  if (!program_.facts.mappable.empty()) program_.facts.mappable.resize(num_parameters);
  for (const Parameter& parameter : program_.parameters) {
    program_.body.arguments.push_back(parameter.value);
  }
  for (const auto& [name, value] : program_.dimensions) program_.body.arguments.push_back(value);
  for (std::size_t i = 0; i < grid_.size(); ++i) {
    const Token& name = grid_[i];
    if (name.kind == Token::Kind::kInteger) continue;
    std::size_t index = 0;
    while (index < program_.dimensions.size() && program_.dimensions[index].first != name.text) {
      ++index;
    }
    if (index == program_.dimensions.size()) {
      fail_at(name, fmt::format("there is no dimension `{}`", name.text));
    }
    program_.useful_grid[i].dimension = static_cast<int>(index);
  }
}

}  // namespace tilewire

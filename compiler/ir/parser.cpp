#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "compiler/ir/text.h"
#include "compiler/ir/token_stream.h"
#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

bool is_iterate(std::string_view word) {
  for (const Iterate iterate :
       {Iterate::kRange, Iterate::kPersistent, Iterate::kRanks, Iterate::kPeers}) {
    if (word == name_of(iterate)) return true;
  }
  return false;
}

constexpr int kMaxDepth = 256;  // of regions inside regions; each costs native stack

/// Recursive descent over the grammar of docs/ir.md.
class Parser : private TokenStream {
 public:
  explicit Parser(std::string_view text) : TokenStream(text) {}

  Program parse() {
    header();
    while (!token().is('}')) declaration();
    finish_declarations();
    expect('}');
    keyword("body");
    expect('{');
    statements(program_.body);
    expect('}');
    if (token().kind != Token::Kind::kEnd) fail("the end of the text");
    return std::move(program_);
  }

 private:
  // Head of the program.
  void header();
  void grid_bound();
  void declaration();
  void parameter(Parameter::Kind kind);
  void finish_declarations();
  std::vector<Dimension> extents();
  void attributes_of_parameter();
  void channel(const Attributes& known, const Token& at);
  bool fact(std::string_view name, const Attribute& value);

  // Statements.
  void statements(Region& region);
  void block(Region& region);
  std::unique_ptr<Statement> statement();
  void op(Statement& statement, const std::vector<Token>& names);
  void for_loop(Statement& statement, const std::vector<Token>& names);
  void while_loop(Statement& statement, const std::vector<Token>& names);
  std::vector<Token> carried(Statement& statement, const std::vector<Token>& names,
                             const Token& at);
  void if_else(Statement& statement, const std::vector<Token>& names);
  void results(Statement& statement, const std::vector<Token>& names);
  std::vector<Type> inferred(const Statement& statement, const Token& at);
  void location(Statement& statement);

  // Values.
  Value* define(const Token& name, Type type, Statement* definition);
  Value* use();
  std::vector<Value*> uses();

  Program program_;
  std::vector<Token> grid_;  ///< what bounds the grid
  std::unordered_map<std::string, Value*> values_;
  int depth_ = 0;
};

void Parser::header() {
  keyword("program");
  expect('@');
  program_.name = identifier("the program's name");
  keyword("from");
  program_.source_file = take(Token::Kind::kString, "the source file as a string").text;
  keyword("world");
  program_.world_size = small_integer();
  keyword("lsa");
  program_.lsa_size = small_integer();
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
void Parser::grid_bound() {
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

void Parser::declaration() {
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

void Parser::parameter(Parameter::Kind kind) {
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

std::vector<Dimension> Parser::extents() {
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

void Parser::attributes_of_parameter() {
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
                                 "`contiguous = true`, `alignment = 16` and `local_only = true`",
                                 name, to_string(value)));
    }
  }
}

/// What a channel carries; other objects have nothing to say.
void Parser::channel(const Attributes& known, const Token& at) {
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
bool Parser::fact(std::string_view name, const Attribute& value) {
  const std::size_t index = program_.parameters.size() - 1;
  if (const bool* flag = std::get_if<bool>(&value); flag && name == "contiguous") {
    program_.facts.contiguous.resize(index + 1);
    program_.facts.contiguous[index] = *flag;
  } else if (flag && name == "local_only") {
    program_.facts.local_only.resize(index + 1);
    program_.facts.local_only[index] = *flag;
  } else if (const auto* bytes = std::get_if<std::int64_t>(&value);
             bytes && name == "alignment" && *bytes > 0 && *bytes <= (1 << 20)) {
    program_.facts.alignment.resize(index + 1, 1);
    program_.facts.alignment[index] = static_cast<int>(*bytes);
  } else {
    return false;
  }
  return true;
}

void Parser::finish_declarations() {
  const std::size_t num_parameters = program_.parameters.size();
  if (!program_.facts.contiguous.empty()) program_.facts.contiguous.resize(num_parameters);
  if (!program_.facts.alignment.empty()) program_.facts.alignment.resize(num_parameters, 1);
  if (!program_.facts.local_only.empty()) program_.facts.local_only.resize(num_parameters);
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

void Parser::statements(Region& region) {
  if (++depth_ > kMaxDepth) fail(fmt::format("at most {} regions inside each other", kMaxDepth));
  while (!token().is('}')) region.statements.push_back(statement());
  --depth_;
}

void Parser::block(Region& region) {
  expect('{');
  statements(region);
  expect('}');
}

std::unique_ptr<Statement> Parser::statement() {
  auto result = std::make_unique<Statement>();
  std::vector<Token> names;
  if (token().kind == Token::Kind::kValue) {
    do {
      names.push_back(take(Token::Kind::kValue, "a value's name"));
    } while (accept(','));
    expect('=');
  }
  if (accept("for")) {
    for_loop(*result, names);
  } else if (accept("while")) {
    while_loop(*result, names);
  } else if (accept("if")) {
    if_else(*result, names);
  } else if (accept("yield")) {
    result->kind = StatementKind::kYield;
    if (token().kind == Token::Kind::kValue) result->operands = uses();
    results(*result, names);
  } else if (accept("return")) {
    result->kind = StatementKind::kReturn;
    results(*result, names);
  } else {
    op(*result, names);
  }
  return result;
}

void Parser::op(Statement& statement, const std::vector<Token>& names) {
  const Token name = take(Token::Kind::kIdentifier, "a statement");
  statement.op = find_op_or_null(name.text);
  if (statement.op == nullptr) {
    fail_at(name, fmt::format("there is no op `{}`", name.text));
  }
  expect('(');
  if (!token().is(')')) statement.operands = uses();
  expect(')');
  statement.attributes = attributes();
  results(statement, names);
}

void Parser::for_loop(Statement& statement, const std::vector<Token>& names) {
  statement.kind = StatementKind::kFor;
  const Token index = take(Token::Kind::kValue, "the loop's index as `%NAME`");
  expect('=');
  const Token iterate = take(Token::Kind::kIdentifier, "range, persistent, ranks or peers");
  if (!is_iterate(iterate.text)) {
    fail_at(iterate, fmt::format("a loop goes through range, persistent, ranks or peers, not {}",
                                 iterate.describe()));
  }
  expect('(');
  statement.operands = uses();
  if (statement.operands.size() != 3) {
    fail_at(iterate, "a loop takes lower bound, upper bound and step");
  }
  expect(')');
  if (accept("with")) statement.attributes = attributes();
  statement.attributes["iterate"] = iterate.text;
  const std::vector<Token> carried = this->carried(statement, names, iterate);
  results(statement, names);
  Region& body = statement.regions.emplace_back();
  body.arguments.push_back(define(index, Type::scalar(kIndex), nullptr));
  for (std::size_t i = 0; i < carried.size(); ++i) {
    body.arguments.push_back(define(carried[i], statement.results[i]->type, nullptr));
  }
  block(body);
}

void Parser::while_loop(Statement& statement, const std::vector<Token>& names) {
  statement.kind = StatementKind::kWhile;
  const Token at = token();
  if (accept("with")) statement.attributes = attributes();
  std::vector<Token> carried = this->carried(statement, names, at);
  results(statement, names);
  statement.regions.resize(2);
  for (Region& region : statement.regions) {
    for (std::size_t i = 0; i < carried.size(); ++i) {
      region.arguments.push_back(define(carried[i], statement.results[i]->type, nullptr));
    }
    block(region);
    if (&region == &statement.regions[1]) return;
    keyword("do");
    const std::size_t num_carried = carried.size();
    carried.clear();
    const Token inside = token();
    if (accept('(')) {
      do {
        carried.push_back(take(Token::Kind::kValue, "a carried value's name"));
      } while (accept(','));
      expect(')');
    }
    if (carried.size() != num_carried) {
      fail_at(inside, fmt::format("a loop that carries {} values names {} in `do`", num_carried,
                                  carried.size()));
    }
  }
}

/// The initial values become operands; returns the names that the region gives them.
std::vector<Token> Parser::carried(Statement& statement, const std::vector<Token>& names,
                                   const Token& at) {
  std::vector<Token> carried;
  if (accept("carry")) {
    expect('(');
    do {
      carried.push_back(take(Token::Kind::kValue, "a carried value's name"));
      expect('=');
      statement.operands.push_back(use());
    } while (accept(','));
    expect(')');
  }
  if (carried.size() != names.size()) {
    fail_at(at, fmt::format("a loop that carries {} values gives {} results", carried.size(),
                            names.size()));
  }
  return carried;
}

void Parser::if_else(Statement& statement, const std::vector<Token>& names) {
  statement.kind = StatementKind::kIf;
  statement.operands.push_back(use());
  if (accept("with")) statement.attributes = attributes();
  results(statement, names);
  statement.regions.resize(2);
  block(statement.regions[0]);
  keyword("else");
  block(statement.regions[1]);
}

/// What stands behind every statement: the results' types and the location.
void Parser::results(Statement& statement, const std::vector<Token>& names) {
  std::vector<Type> types;
  const Token start = token();
  if (accept(':')) {
    do {
      types.push_back(type());
    } while (accept(','));
  }
  location(statement);
  if (types.empty() && statement.kind == StatementKind::kOp) types = inferred(statement, start);
  if (types.size() != names.size()) {
    fail_at(start, fmt::format("{} results, but {} types", names.size(), types.size()));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    statement.results.push_back(define(names[i], types[i], &statement));
  }
}

std::vector<Type> Parser::inferred(const Statement& statement, const Token& at) {
  std::vector<Type> operands;
  for (const Value* operand : statement.operands) operands.push_back(operand->type);
  try {
    return infer_types({*statement.op, operands, statement.attributes, {}});
  } catch (const UserError& error) {
    fail_at(at, error.message());
  }
}

void Parser::location(Statement& statement) {
  if (!accept('@')) return;
  statement.location.file = program_.source_file;
  if (token().kind == Token::Kind::kString) {
    statement.location.file = take().text;
    expect(':');
  }
  statement.location.line = small_integer();
  expect(':');
  statement.location.column = small_integer();
}

Value* Parser::define(const Token& name, Type type, Statement* definition) {
  const auto [entry, is_new] = values_.try_emplace(name.text);
  if (!is_new) fail_at(name, fmt::format("{} is defined twice", name.describe()));
  entry->second = program_.new_value(std::move(type), name.text);
  entry->second->definition = definition;
  return entry->second;
}

Value* Parser::use() {
  const Token name = take(Token::Kind::kValue, "a value");
  const auto found = values_.find(name.text);
  if (found == values_.end()) {
    fail_at(name, fmt::format("{} is not defined before this use", name.describe()));
  }
  return found->second;
}

std::vector<Value*> Parser::uses() {
  std::vector<Value*> result;
  do {
    result.push_back(use());
  } while (accept(','));
  return result;
}

}  // namespace

Program parse_program(std::string_view text) {
  Program program = Parser(text).parse();
  try {
    verify(program);
  } catch (const InternalError& error) {
    throw UserError(error.message(), error.location());
  }
  return program;
}

}  // namespace tilewire

#include <fmt/format.h>

#include <utility>

#include "compiler/ir/program_parser.h"
#include "compiler/ir/text.h"
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

}  // namespace

Program ProgramParser::parse() {
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

void ProgramParser::statements(Region& region) {
  if (++depth_ > kMaxDepth) fail(fmt::format("at most {} regions inside each other", kMaxDepth));
  while (!token().is('}')) region.statements.push_back(statement());
  --depth_;
}

void ProgramParser::block(Region& region) {
  expect('{');
  statements(region);
  expect('}');
}

std::unique_ptr<Statement> ProgramParser::statement() {
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

void ProgramParser::op(Statement& statement, const std::vector<Token>& names) {
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

void ProgramParser::for_loop(Statement& statement, const std::vector<Token>& names) {
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

void ProgramParser::while_loop(Statement& statement, const std::vector<Token>& names) {
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
std::vector<Token> ProgramParser::carried(Statement& statement, const std::vector<Token>& names,
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

void ProgramParser::if_else(Statement& statement, const std::vector<Token>& names) {
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
void ProgramParser::results(Statement& statement, const std::vector<Token>& names) {
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

std::vector<Type> ProgramParser::inferred(const Statement& statement, const Token& at) {
  std::vector<Type> operands;
  for (const Value* operand : statement.operands) operands.push_back(operand->type);
  try {
    return infer_types({*statement.op, operands, statement.attributes, {}});
  } catch (const UserError& error) {
    fail_at(at, error.message());
  }
}

void ProgramParser::location(Statement& statement) {
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

Value* ProgramParser::define(const Token& name, Type type, Statement* definition) {
  const auto [entry, is_new] = values_.try_emplace(name.text);
  if (!is_new) fail_at(name, fmt::format("{} is defined twice", name.describe()));
  entry->second = program_.new_value(std::move(type), name.text);
  entry->second->definition = definition;
  return entry->second;
}

Value* ProgramParser::use() {
  const Token name = take(Token::Kind::kValue, "a value");
  const auto found = values_.find(name.text);
  if (found == values_.end()) {
    fail_at(name, fmt::format("{} is not defined before this use", name.describe()));
  }
  return found->second;
}

std::vector<Value*> ProgramParser::uses() {
  std::vector<Value*> result;
  do {
    result.push_back(use());
  } while (accept(','));
  return result;
}

Program parse_program(std::string_view text) {
  Program program = ProgramParser(text).parse();
  try {
    verify(program);
  } catch (const InternalError& error) {
    throw UserError(error.message(), error.location());
  }
  return program;
}

}  // namespace tilewire

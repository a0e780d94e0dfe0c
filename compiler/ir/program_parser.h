#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ir/program.h"
#include "compiler/ir/token_stream.h"

namespace tilewire {

/// Recursive descent over the grammar of docs/ir.md: parser.cpp has the statements,
/// parser_declarations.cpp what stands in front of the body. UserError at the token that is wrong.
class ProgramParser : private TokenStream {
 public:
  explicit ProgramParser(std::string_view text) : TokenStream(text) {}

  Program parse();

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

}  // namespace tilewire

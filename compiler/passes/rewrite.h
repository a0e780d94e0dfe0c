#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

using Statements = std::vector<std::unique_ptr<Statement>>;

/// What replaces what. Lookups follow chains; a value that nothing replaces is itself.
class Replacements {
 public:
  void replace(const Value* value, Value* by) { by_[value] = by; }
  Value* resolve(Value* value) const;
  void resolve_all(std::vector<Value*>& values) const;
  bool empty() const { return by_.empty(); }

 private:
  std::unordered_map<const Value*, Value*> by_;
};

/// Appends ops to a list of statements, all at one place of the user's program.
class Inserter {
 public:
  Inserter(Program& program, Statements& into, SourceLocation location)
      : program_(program), into_(into), location_(std::move(location)) {}

  Value* op(std::string_view name, std::vector<Value*> operands, Attributes attributes = {});
  /// The same of a pure op without attributes, unless one of the last statements here is equal:
  /// values that are one and the same are easier to compare.
  Value* op_or_equal(std::string_view name, const std::vector<Value*>& operands);
  Value* constant(std::int64_t value);  ///< an index
  Value* constant(Attribute value, DType dtype);
  Statement& append(std::unique_ptr<Statement> statement);
  Program& program() { return program_; }
  const SourceLocation& location() const { return location_; }

 private:
  Program& program_;
  Statements& into_;
  SourceLocation location_;
};

/// A statement without operands, regions or results.
std::unique_ptr<Statement> new_structure(StatementKind kind, SourceLocation location = {});

/// A copy of a region's statements with fresh values; operands go through `mapping`, which gains
/// the copies of what the statements define.
Statements clone_statements(Program& program, const Region& region, Replacements& mapping);

/// `statement` as one constant, or null.
const Attribute* constant_value(const Value* value);
/// The value of an integer constant.
bool is_integer_constant(const Value* value, std::int64_t& result);

}  // namespace tilewire

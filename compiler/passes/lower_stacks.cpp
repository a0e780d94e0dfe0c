#include <string>
#include <utility>

#include "compiler/ops/memory.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace tilewire {
namespace {

class StackLowering {
 public:
  explicit StackLowering(Program& program) : program_(program) {}

  void run() { region(program_.body); }

 private:
  void region(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      replaced_.resolve_all(statement->operands);
      for (Region& inner : statement->regions) this->region(inner);
      Inserter insert(program_, region.statements, statement->location);
      if (statement->kind == StatementKind::kOp && statement->is("stack")) {
        parts_[statement->result()] = statement->operands;
        Value* joined = join(statement->operands, insert);
        joined->name = statement->result()->name;
        parts_[joined] = statement->operands;
        replaced_.replace(statement->result(), joined);
        removed_.push_back(std::move(statement));
      } else if (is_store_of_parts(*statement)) {
        store(*statement, insert);
        removed_.push_back(std::move(statement));
      } else {
        region.statements.push_back(std::move(statement));
      }
    }
  }

  /// Under the shape that they have in the stack, by halves one behind the other.
  static Value* join(const std::vector<Value*>& parts, Inserter& insert) {
    if (parts.size() == 1) {
      if (parts[0]->type.is_scalar()) {
        return insert.op("full", {parts[0]}, {{"shape", std::vector<std::int64_t>{1}}});
      }
      std::vector<std::int64_t> shape = parts[0]->type.shape;
      shape.insert(shape.begin(), 1);
      return insert.op("reshape", {parts[0]}, {{"shape", std::move(shape)}});
    }
    const auto middle = parts.begin() + static_cast<std::ptrdiff_t>((parts.size() + 1) / 2);
    Value* first = join({parts.begin(), middle}, insert);
    Value* second = join({middle, parts.end()}, insert);
    return insert.op("cat", {first, second}, {{"axis", std::int64_t{0}}});
  }

  bool is_store_of_parts(const Statement& statement) const {
    return statement.kind == StatementKind::kOp && statement.is("store") &&
           statement.operands.size() == 2 && parts_.contains(statement.operands[1]) &&
           statement.operands[0]->type.rank() == statement.operands[1]->type.rank();
  }

  /// Each part goes to its own row of the view.
  void store(const Statement& statement, Inserter& insert) {
    Value* view = statement.operands[0];
    const std::vector<Value*>& parts = parts_.at(statement.operands[1]);
    std::vector<SlicePattern> pattern(static_cast<std::size_t>(view->type.rank()),
                                      {SliceIndex::Kind::kAll, kDynamic});
    pattern[0].kind = SliceIndex::Kind::kAt;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Value* index = insert.constant(static_cast<std::int64_t>(i));
      Value* row = insert.op("slice", {view, index}, {{"index", slice_pattern_to_string(pattern)}});
      insert.append(
          program_.new_op("store", {row, parts[i]}, statement.attributes, statement.location));
    }
  }

  Program& program_;
  Replacements replaced_;
  /// What was put together → of what.
  std::unordered_map<const Value*, std::vector<Value*>> parts_;
  Statements removed_;  ///< kept, so that no new statement takes their address
};

}  // namespace

Program lower_stacks(Program program) {
  StackLowering(program).run();
  return program;
}

}  // namespace tilewire
